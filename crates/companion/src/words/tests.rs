use super::*;

#[test]
fn chapters_are_numbered_as_people_write_them() {
    let names = [1, 3, 10, 11, 20, 42, 100].map(chinese_number);
    assert_eq!(names, ["一", "三", "十", "十一", "二十", "四十二", "100"]);
}
