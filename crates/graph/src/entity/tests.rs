use super::*;

#[test]
fn names_that_read_the_same_are_one_entity_of_one_user() {
    let (lin, mo) = (Scope::user("lin").unwrap(), Scope::user("mo").unwrap());
    let id = EntityId::of(&lin, "臺北  車站");
    assert_eq!(EntityId::of(&lin.clone().with_session("s").unwrap(), "台北 车站"), id);
    assert_eq!(EntityId::of(&lin, "ＡＮＮＡ"), EntityId::of(&lin, "anna"));
    assert_ne!(EntityId::of(&mo, "台北 车站"), id);
    assert_eq!(id.to_string().parse::<EntityId>().unwrap(), id);
    for wrong in ["", "12", &"g".repeat(32), "é".repeat(16).as_str()] {
        assert!(wrong.parse::<EntityId>().is_err());
    }
    // Kept in databases: a change would part what is stored from what is asked for.
    assert_eq!(EntityId::of(&lin, "Anna").to_string(), "876badf6779ffc28914ad1e5d25db990");
}
