use super::*;

fn read(text: &str, me: Option<&str>) -> Vec<ImportedTurn> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("WhatsApp Chat with Anna.txt");
    fs::write(&path, text).unwrap();
    let rows = rows(&path, me).unwrap().0;
    rows.flat_map(|row| row.unwrap().turns.unwrap()).collect()
}

fn fields<'t>(turn: &'t ImportedTurn, keys: [&str; 4]) -> [&'t str; 4] {
    keys.map(|key| turn.keys[key].as_str().unwrap())
}

#[test]
fn messages_of_android_have_lines_roles_and_times() {
    let chat = "31/12/2024, 23:58 - Messages and calls are end-to-end encrypted. Tap to learn more.\n\
        31/12/2024, 23:59 - Anna: Happy new year!\nSee you: at noon?\n\
        01/01/2025, 00:03 - Lin: <Media omitted>\n\
        01/01/2025, 00:03 - Lin: Yes\n01/01/2025, 00:03 - Lin: Yes\n";
    let turns = read(chat, Some("Lin"));
    let keys = ["text", "speaker", "role", "time"];
    assert_eq!(
        fields(&turns[0], keys),
        ["Happy new year!\nSee you: at noon?", "Anna", "participant", "2024-12-31T23:59:00"]
    );
    assert_eq!(fields(&turns[1], keys), ["Yes", "Lin", "user", "2025-01-01T00:03:00"]);
    assert_eq!(turns.len(), 3);
    assert_ne!(turns[1].keys["id"], turns[2].keys["id"]);
    assert_eq!(turns[0].keys["session"], "WhatsApp Chat with Anna");
}

#[test]
fn formats_of_phones_and_countries_are_read() {
    for (line, time, text) in [
        ("[31/12/2024, 23:59:58] Anna: hi", "2024-12-31T23:59:58", "hi"),
        ("\u{200e}[12/31/24, 11:59:58\u{202f}PM] Anna: hi", "2024-12-31T23:59:58", "hi"),
        ("12/31/24, 12:05 AM - Anna: hi", "2024-12-31T00:05:00", "hi"),
        ("31.12.24, 23:59 - Anna: hi", "2024-12-31T23:59:00", "hi"),
        ("2024/12/31 23:59 - Anna: 你好", "2024-12-31T23:59:00", "你好"),
        ("[2024/12/31 下午11:59:58] Anna: 你好", "2024-12-31T23:59:58", "你好"),
        ("[2024/12/31, 23:59:58] Anna: 12:30 - ok: fine", "2024-12-31T23:59:58", "12:30 - ok: fine"),
    ] {
        let turns = read(line, None);
        assert_eq!((&turns[0].keys["time"], &turns[0].keys["text"]), (&time.into(), &text.into()), "{line}");
        assert_eq!(turns[0].keys["speaker"], "Anna", "{line}");
    }
}

#[test]
fn the_order_of_day_and_month_is_that_of_the_whole_file() {
    let first_time = |chat: &str| read(chat, None)[0].keys["time"].as_str().unwrap().to_owned();
    assert_eq!(first_time("3/4/24, 10:00 - A: x\n13/4/24, 10:00 - A: y"), "2024-04-03T10:00:00");
    assert_eq!(first_time("3/4/24, 10:00 - A: x\n3/14/24, 10:00 - A: y"), "2024-03-04T10:00:00");
    assert_eq!(first_time("3/4/24, 10:00 - A: x"), "2024-04-03T10:00:00");
    assert_eq!(first_time("3/4/24, 10:00 AM - A: x"), "2024-03-04T10:00:00");
}

#[test]
fn placeholders_and_notices_are_skipped() {
    let lines = [
        "[31/12/2024, 23:59:58] Anna: \u{200e}image omitted",
        "[31/12/2024, 23:59:58] Anna: \u{200e}<attached: 1.jpg>",
        "31/12/2024, 23:59 - Anna: IMG-1.jpg (file attached)",
        "31/12/2024, 23:59 - Anna: 图片已忽略",
        "31/12/2024, 23:59 - Anna added Lin",
    ];
    for line in lines {
        assert_eq!(read(&format!("{line}\n31/12/2024, 23:59 - Anna: hi"), None).len(), 1, "{line}");
    }
}

#[test]
fn what_is_no_chat_is_refused_and_an_impossible_date_is_a_bad_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.txt");
    fs::write(&path, "Dear diary\n31/12/2024 was fine\n").unwrap();
    assert!(rows(&path, None).err().unwrap().to_string().contains("no message"));
    fs::write(&path, "31/02/2024, 23:59 - Anna: hi\n30/01/2024, 23:59 - Anna: hi\n").unwrap();
    let rows: Vec<Row> = rows(&path, None).unwrap().0.map(Result::unwrap).collect();
    assert!(rows[0].turns.as_ref().unwrap_err().to_string().contains("no such day"));
    assert_eq!(rows[1].turns.as_ref().unwrap().len(), 1);
}
