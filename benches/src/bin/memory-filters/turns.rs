//! Made-up turns of one user: short, half of them Chinese, in sessions of 50, about 1440 a day.

use anyhow::Result;
use memory_engine::{Kind, Record, RecordId, Role, Scope, SystemClock, Timestamp};

const NAMES: [&str; 20] = [
    "Anna", "Boris", "Carla", "Dmitri", "Elena", "Frank", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Luis", "Mara",
    "Nils", "Olga", "Pavel", "Rosa", "Sven", "Tara", "Viktor",
];
const VERBS: [&str; 16] = [
    "repaired",
    "painted",
    "bought",
    "cleaned",
    "found",
    "lost",
    "sold",
    "moved",
    "borrowed",
    "admired",
    "measured",
    "ordered",
    "packed",
    "opened",
    "carried",
    "described",
];
const THINGS: [&str; 40] = [
    "bicycle",
    "piano",
    "kettle",
    "ladder",
    "garden",
    "carpet",
    "window",
    "boat",
    "mirror",
    "lamp",
    "engine",
    "bridge",
    "basket",
    "jacket",
    "guitar",
    "camera",
    "notebook",
    "umbrella",
    "hammer",
    "bottle",
    "wallet",
    "blanket",
    "teapot",
    "suitcase",
    "telescope",
    "compass",
    "fountain",
    "chimney",
    "orchard",
    "violin",
    "saddle",
    "anchor",
    "lantern",
    "barrel",
    "ribbon",
    "scissors",
    "candle",
    "drawer",
    "pillow",
    "helmet",
];
const CHINESE_NAMES: [&str; 10] = ["小明", "阿芳", "老王", "晓燕", "建国", "丽华", "志强", "美玲", "海涛", "春生"];
const CHINESE_VERBS: [&str; 10] = ["修理", "购买", "清洗", "寻找", "出售", "搬运", "借用", "测量", "订购", "描述"];
const CHINESE_THINGS: [&str; 20] = [
    "自行车",
    "钢琴",
    "水壶",
    "梯子",
    "花园",
    "地毯",
    "窗户",
    "小船",
    "镜子",
    "台灯",
    "发动机",
    "篮子",
    "外套",
    "相机",
    "雨伞",
    "锤子",
    "瓶子",
    "毛毯",
    "茶壶",
    "望远镜",
];

/// 2024-01-01.
const BEGINNING: i64 = 1_704_067_200_000_000;
const MINUTE: i64 = 60_000_000;

/// Returns a number below `end` that looks like chance, the same one each time (splitmix64).
fn pick(seed: usize, place: u64, end: usize) -> usize {
    let mut z =
        (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(place.wrapping_mul(0xd134_2543_de82_ef95));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ z >> 31) % end as u64) as usize
}

/// The turn of a number, one a minute.
pub(crate) fn turn(number: usize) -> Result<Record> {
    let scope = Scope::user("lin")?.with_session(format!("session {}", number / 50))?;
    let mut record = Record::new(scope, Kind::TURN, text(number), &SystemClock);
    record.id = RecordId::named(&record.scope, &number.to_string());
    record.occurred_at = Timestamp::from_micros(BEGINNING + number as i64 * MINUTE);
    record.role = Some(if number.is_multiple_of(2) { Role::USER } else { Role::ASSISTANT });
    record.source.sequence = Some(number as i64);
    record.metadata.insert("room".to_owned(), (pick(number, 7, 10) as u64).into());
    if pick(number, 8, 500) == 0 {
        record.metadata.insert("seat".to_owned(), format!("window {}", pick(number, 9, 8)).into());
    }
    Ok(record)
}

/// The beginning of a day after the first.
pub(crate) fn day(number: i64) -> Result<Timestamp> {
    Ok(Timestamp::from_micros(BEGINNING + number * 24 * 60 * MINUTE))
}

fn text(number: usize) -> String {
    let of = |words: &[&'static str], place| words[pick(number, place, words.len())];
    match pick(number, 0, 2) {
        0 => format!(
            "{} {} the {} next to the {} ({number})",
            of(&NAMES, 1),
            of(&VERBS, 2),
            of(&THINGS, 3),
            of(&THINGS, 4)
        ),
        _ => format!(
            "{}昨天{}了{}，放在{}旁边（{number}）",
            of(&CHINESE_NAMES, 1),
            of(&CHINESE_VERBS, 2),
            of(&CHINESE_THINGS, 3),
            of(&CHINESE_THINGS, 4)
        ),
    }
}

/// A question about some of the turns.
pub(crate) fn question(number: usize) -> String {
    let of = |words: &[&'static str], place| words[pick(number + 1_000_000, place, words.len())];
    if number.is_multiple_of(2) {
        format!("What did {} say about the {} and the {}?", of(&NAMES, 1), of(&THINGS, 3), of(&THINGS, 4))
    } else {
        format!("{}{}了什么{}？", of(&CHINESE_NAMES, 1), of(&CHINESE_VERBS, 2), of(&CHINESE_THINGS, 3))
    }
}
