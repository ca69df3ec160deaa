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

/// The locales of phones: the same two messages, at five past nine in the morning and five past two in the afternoon.
#[test]
fn dates_and_times_of_many_languages_are_read() {
    for (first, second) in [
        ("[2026/3/5 上午9:05:01] ", "[2026/3/5 下午2:05:01] "),
        ("[2026/3/5 早上9:05:01] ", "[2026/3/5 中午2:05:01] "),
        ("2026年3月5日 上午9:05 - ", "2026年3月5日 下午2:05 - "),
        ("[2026/03/05 午前9:05:01] ", "[2026/03/05 午後2:05:01] "),
        ("2026. 3. 5. 오전 9:05 - ", "2026. 3. 5. 오후 2:05 - "),
        ("[2026. 3. 5. 오전 9:05:01] ", "[2026. 3. 5. 오후 2:05:01] "),
        ("05/03/2026 à 09:05 - ", "05/03/2026 à 14:05 - "),
        ("05/03/2026 09 h 05 - ", "05/03/2026 14 h 05 - "),
        ("05.03.26, 09:05 - ", "05.03.26, 14:05 - "),
        ("05.03.26 um 09:05 Uhr - ", "05.03.26 um 14:05 Uhr - "),
        ("5/3/26, 9:05 a. m. - ", "5/3/26, 2:05 p. m. - "),
        ("05/03/2026 às 09:05 - ", "05/03/2026 às 14:05 - "),
        ("2026-03-05 kl. 09:05 - ", "2026-03-05 kl. 14:05 - "),
        ("2026-03-05 9:05 fm - ", "2026-03-05 2:05 em - "),
        ("5.3.2026 klo 9.05 - ", "5.3.2026 klo 14.05 - "),
        ("05-03-2026 09:05 - ", "05-03-2026 14:05 - "),
        ("05/03/26, 9:05 am - ", "05/03/26, 2:05 pm - "),
        ("٥‏/٣‏/٢٠٢٦، ٩:٠٥ ص - ", "٥‏/٣‏/٢٠٢٦، ٢:٠٥ م - "),
        ("[٠٥/٠٣/٢٠٢٦، ٩:٠٥:٠١ ص] ", "[٠٥/٠٣/٢٠٢٦، ٢:٠٥:٠١ م] "),
        ("5/3/2569 09:05 - ", "5/3/2569 14:05 - "),
        ("05/03/2026 9:05 SA - ", "05/03/2026 2:05 CH - "),
        ("५/३/२०२६, ९:०५ am - ", "५/३/२०२६, २:०५ pm - "),
        ("05/03/2026, 09:05 – ", "05/03/2026, 14:05 – "),
        ("05/03/2026 09:05:01: ", "05/03/2026 14:05:01: "),
    ] {
        let turns = read(&format!("{first}Alba: the key is at the bar\n{second}小林:我在3:05到家\n"), None);
        let found: Vec<(&str, &str)> =
            turns.iter().map(|t| (t.keys["speaker"].as_str().unwrap(), t.keys["text"].as_str().unwrap())).collect();
        assert_eq!(found, [("Alba", "the key is at the bar"), ("小林", "我在3:05到家")], "{first}");
        let times: Vec<&str> = turns.iter().map(|turn| &turn.keys["time"].as_str().unwrap()[..16]).collect();
        assert_eq!(times, ["2026-03-05T09:05", "2026-03-05T14:05"], "{first}");
    }
}

#[test]
fn parts_of_the_day_decide_the_hour() {
    for (clock, hour) in [
        ("中午12:30", "12:30"),
        ("中午11:30", "11:30"),
        ("中午1:30", "13:30"),
        ("凌晨12:30", "00:30"),
        ("深夜11:30", "23:30"),
        ("半夜2:30", "02:30"),
        ("傍晚6:30", "18:30"),
        ("오전 12:30", "00:30"),
    ] {
        let turns = read(&format!("[2026/3/5 {clock}:00] 小林: 面"), None);
        assert_eq!(&turns[0].keys["time"].as_str().unwrap()[11..16], hour, "{clock}");
    }
}

#[test]
fn the_order_of_times_decides_between_day_and_month() {
    let times = read("3/4/24, 10:00 - A: x\n3/5/24, 10:00 - A: y\n4/1/24, 10:00 - A: z", None);
    assert_eq!(times[2].keys["time"], "2024-04-01T10:00:00");
    assert_eq!(read("05/03/26, 2:05 pm - A: x", None)[0].keys["time"], "2026-03-05T14:05:00");
}

#[test]
fn notices_with_a_colon_have_no_speaker() {
    for notice in [
        "Rui created group \"Trip: Azores\"",
        "Rui changed the group name from \"Trip: Azores\" to \"Trip: Madeira\"",
        "Messages and calls are end-to-end encrypted. Learn more: tap here",
        "小林创建了群组“周末：爬山”",
        "消息和通话均已进行端到端加密。详情：轻触了解",
        "Rui turned on disappearing messages. New messages: 24 hours",
    ] {
        let turns = read(&format!("05/03/26, 14:05 - {notice}\n13/03/26, 14:09 - Rui: ok"), None);
        assert_eq!((turns.len(), &turns[0].keys["text"]), (1, &"ok".into()), "{notice}");
    }
    let named = read("05/03/26, 14:05 - Ana \"Nina\" Silva: see https://example.org at 10:30", None);
    assert_eq!(named[0].keys["speaker"], "Ana \"Nina\" Silva");
}

#[test]
fn a_line_like_a_header_that_cannot_be_read_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.txt");
    let chat = "05/03/2026 ca. 14:05 - Alba: lost\n05/03/2026, 14:06 - Rui: ok\n[2026/3/5 xyz9:05:01] 小周: 早\n\
                on 5/3/2026 at 14:05 we met\n";
    fs::write(&path, chat).unwrap();
    let rows: Vec<Row> = rows(&path, None).unwrap().0.map(Result::unwrap).collect();
    let bad: Vec<(&str, bool)> = rows.iter().map(|row| (row.place.as_str(), row.turns.is_err())).collect();
    assert_eq!(bad, [("line 1", true), ("line 2", false), ("line 3", true)]);
    assert_eq!(rows[1].turns.as_ref().unwrap()[0].keys["text"], "ok\non 5/3/2026 at 14:05 we met");
}
