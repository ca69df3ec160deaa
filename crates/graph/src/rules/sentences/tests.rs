use super::*;

#[test]
fn titles_and_initials_end_no_sentence() {
    let text = "Dr. Reed met J. Holt at 3.30 p.m. sharp. 他走了！她没有…";
    let texts: Vec<&str> = split(text).iter().map(|sentence| sentence.body).collect();
    assert_eq!(texts, ["Dr. Reed met J. Holt at 3.30 p.m. sharp", " 他走了", "她没有"]);
}
