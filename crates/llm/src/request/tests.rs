use serde_json::json;

use super::*;

#[test]
fn a_schema_has_a_name_that_every_service_takes() {
    assert_eq!(OutputSchema::new("事实 list-1", json!({})).name, "___list-1");
}
