//! Made-up records: the same ones each time, half of them Chinese, of users of very uneven size.

use memory_engine::{Kind, Record, Result, Scope, SystemClock, Timestamp};

/// Number of dimensions of a vector.
pub const DIMENSIONS: usize = 384;

/// Number of users of the records.
pub const USERS: usize = 1000;

const TOPICS: usize = 500;
const WORDS: usize = 20_000;
/// Distance of a record from the centre of its topic, relative to the random spread of the centres.
const SPREAD: f32 = 0.7;

/// The characters of Chinese words, two each.
const CHARACTERS: &str = "人大小山水火木金土日月年天气雨雪风云花草鸟鱼马牛羊猫狗车船路门窗书笔纸灯床桌椅茶饭菜肉果米面汤糖盐油酒红黄蓝绿黑白\
                          东西南北上下左右前后里外中高低长短新旧早晚快慢多少冷热远近深浅轻重美好坏真假爱恨喜怒哀乐想念听说读写走跑飞游吃喝睡醒\
                          买卖开关来去进出学教问答工作朋友家父母兄弟姐妹老师医生城市乡村国际公司学校银行商店餐厅机场车站";
/// The syllables of English words, two to four each.
const SYLLABLES: [&str; 40] = [
    "ba", "ter", "lin", "mo", "sha", "ver", "con", "di", "pre", "lo", "gan", "ri", "sen", "tu", "wal", "fi", "hor",
    "ne", "ka", "pol", "ste", "bri", "ja", "cu", "dor", "el", "fan", "gi", "hul", "in", "ker", "lam", "mer", "nox",
    "os", "pin", "quo", "ras", "sol", "tin",
];

/// A record with its vector.
#[derive(Debug, Clone)]
pub struct Synthetic {
    /// Its number.
    pub number: usize,
    /// The user.
    pub user: String,
    /// The text: 10 to 40 words.
    pub text: String,
    /// Near others of its topic.
    pub vector: Vec<f32>,
}

/// A question that one record answers.
#[derive(Debug, Clone)]
pub struct Question {
    /// The user who has the record.
    pub user: String,
    /// Three words of it.
    pub text: String,
    /// A vector beside its own.
    pub vector: Vec<f32>,
}

/// Numbers that look like chance (splitmix64: Steele, Lea & Flood, 2014).
#[derive(Debug)]
struct Chance(u64);

impl Chance {
    fn of(what: &'static str, number: usize) -> Self {
        let seed = what.bytes().fold(2026, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        Self(seed.wrapping_add((number as u64).wrapping_mul(0xd134_2543_de82_ef95)))
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// From 0 up to 1.
    fn part(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, end: usize) -> usize {
        (self.part() * end as f64) as usize
    }

    /// The first ones much more often, as words and users are: each by the inverse of its place (Zipf).
    fn uneven(&mut self, end: usize) -> usize {
        ((end as f64).powf(self.part()) as usize).saturating_sub(1).min(end - 1)
    }

    /// About as a normal distribution, of deviation 1.
    fn bell(&mut self) -> f32 {
        let bits = self.bits();
        let sum: u64 = (0..4).map(|n| bits >> (16 * n) & 0xffff).sum();
        (sum as f32 / 65_536.0 - 2.0) * 1.732
    }
}

fn word(number: usize, chinese: bool) -> String {
    let mut chance = Chance::of("word", number);
    if chinese {
        let characters: Vec<char> = CHARACTERS.chars().filter(|c| !c.is_whitespace()).collect();
        return (0..2).map(|_| characters[chance.below(characters.len())]).collect();
    }
    (0..2 + chance.below(3)).map(|_| SYLLABLES[chance.below(SYLLABLES.len())]).collect()
}

fn is_chinese(number: usize) -> bool {
    number.is_multiple_of(2)
}

fn words(number: usize) -> Vec<String> {
    let mut chance = Chance::of("text", number);
    (0..10 + chance.below(31)).map(|_| word(chance.uneven(WORDS), is_chinese(number))).collect()
}

/// Returns the user of the record with this number.
pub fn user(number: usize) -> String {
    format!("u{:04}", Chance::of("user", number).uneven(USERS))
}

fn vector(number: usize) -> Vec<f32> {
    let mut chance = Chance::of("vector", number);
    let mut middle = Chance::of("topic", chance.uneven(TOPICS));
    (0..DIMENSIONS).map(|_| middle.bell() + SPREAD * chance.bell()).collect()
}

/// Returns the time of the record with this number: one turn a minute.
pub fn time_of(number: usize) -> Timestamp {
    Timestamp::from_micros((1_700_000_000 + 60 * number as i64) * 1_000_000)
}

fn sentence(words: &[String], number: usize) -> String {
    if is_chinese(number) { words.concat() + "。" } else { words.join(" ") + "." }
}

/// The record of this number.
pub fn record(number: usize) -> Synthetic {
    Synthetic { number, user: user(number), text: sentence(&words(number), number), vector: vector(number) }
}

/// The question of this number, for one of the first `records`.
pub fn question(number: usize, records: usize) -> Question {
    let mut chance = Chance::of("question", number);
    let answer = chance.below(records.max(1));
    let words = words(answer);
    let from = chance.below(words.len() - 2);
    let vector = vector(answer).into_iter().map(|x| x + 0.3 * chance.bell()).collect();
    Question { user: user(answer), text: sentence(&words[from..from + 3], answer), vector }
}

impl Synthetic {
    /// Returns the record without its vector: one turn a minute.
    ///
    /// # Errors
    /// None: the names are valid ones.
    pub fn record(&self) -> Result<Record> {
        let mut record = Record::new(Scope::user(&self.user)?, Kind::TURN, self.text.as_str(), &SystemClock);
        record.occurred_at = time_of(self.number);
        record.source.message_id = Some(self.number.to_string());
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_the_same_each_time_and_unlike_another() {
        let (one, again, other) = (record(7), record(7), record(8));
        assert_eq!((&one.text, &one.user, &one.vector), (&again.text, &again.user, &again.vector));
        assert!(one.text != other.text && one.vector != other.vector);
        assert!(one.text.is_ascii() && !other.text.is_ascii());
    }

    #[test]
    fn a_question_is_of_words_and_a_vector_beside_those_of_a_record() {
        let question = question(3, 50);
        let cosine = |a: &[f32], b: &[f32]| {
            let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            product(a, b) / (product(a, a) * product(b, b)).sqrt()
        };
        let near = |n: &usize| cosine(&vector(*n), &question.vector);
        let nearest = (0..50).max_by(|a, b| near(a).total_cmp(&near(b)));
        let nearest = nearest.map(record);
        let stem = question.text.trim_end_matches(['.', '。']);
        assert!(nearest.is_some_and(|record| record.text.contains(stem) && record.user == question.user));
    }

    #[test]
    fn some_users_have_much_more_than_others() {
        let mut sizes = std::collections::BTreeMap::<String, usize>::new();
        (0..2000).for_each(|n| *sizes.entry(user(n)).or_default() += 1);
        let most = sizes.values().max().copied().unwrap_or_default();
        assert!(most > 100 && sizes.len() > 300, "{most} of {} users", sizes.len());
    }
}
