use super::*;

#[test]
fn equal_folded_names_are_one_entity_of_a_user() {
    let lin = Scope::user("lin").unwrap();
    let mo = Scope::user("mo").unwrap();
    let id = EntityId::of(&lin, "臺北  車站");
    assert_eq!(EntityId::of(&lin.clone().with_session("s").unwrap(), "台北 车站"), id);
    assert_eq!(EntityId::of(&lin, "ＡＮＮＡ"), EntityId::of(&lin, "anna"));
    assert_ne!(EntityId::of(&mo, "台北 车站"), id);
    assert_eq!(id.to_string().parse::<EntityId>().unwrap(), id);
    for invalid in ["", "12", &"g".repeat(32), "é".repeat(16).as_str()] {
        assert!(invalid.parse::<EntityId>().is_err());
    }
    // Ids are stored in databases and must not change.
    assert_eq!(EntityId::of(&lin, "Anna").to_string(), "876badf6779ffc28914ad1e5d25db990");
}
