use serde_json::json;

use super::*;

#[test]
fn schema_names_have_valid_characters() {
    assert_eq!(OutputSchema::new("事实 list-1", json!({})).name, "___list-1");
}
