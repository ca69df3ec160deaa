use super::*;

#[test]
fn titles_and_initials_end_no_sentence() {
    let text = "Dr. Reed met J. Holt at 3.30 p.m. sharp. 他走了！她没有…";
    assert_eq!(of(text), ["Dr. Reed met J. Holt at 3.30 p.m. sharp", " 他走了", "她没有"]);
}
