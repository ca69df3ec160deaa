//! Made-up messages of users about their lives, in Chinese and English, the same ones each time.

/// People, in Chinese and in English.
const NAMES: [[&str; 12]; 2] = [
    ["小林", "阿杰", "妈妈", "王老师", "小雨", "表哥", "室友", "陈姐", "奶奶", "老张", "小美", "邻居"],
    ["Lin", "Marcus", "my mother", "Dr. Patel", "Nora", "my cousin", "Tom", "Ingrid", "Grandma", "Oscar", "Mia", "Raj"],
];
/// Places, in Chinese and in English.
const PLACES: [[&str; 12]; 2] = [
    ["杭州", "成都", "图书馆", "健身房", "海边", "医院", "新公司", "电影院", "京都", "菜市场", "动物园", "书店"],
    [
        "Lisbon",
        "the library",
        "the gym",
        "the lake",
        "the clinic",
        "the new office",
        "the cinema",
        "Kyoto",
        "the market",
        "the zoo",
        "the bookshop",
        "Berlin",
    ],
];
/// Objects and activities, in Chinese and in English.
const THINGS: [[&str; 12]; 2] = [
    ["酸辣粉", "吉他", "猫粮", "跑鞋", "摄影课", "火锅", "拼图", "咖啡豆", "科幻小说", "自行车", "围巾", "多肉植物"],
    [
        "dumplings",
        "a guitar",
        "cat food",
        "running shoes",
        "a photography course",
        "hot pot",
        "a jigsaw puzzle",
        "coffee beans",
        "a science fiction novel",
        "a bicycle",
        "a scarf",
        "a cactus",
    ],
];
/// Statements, with `N` for a name, `P` for a place and `T` for a thing; in English in angle brackets.
const STATEMENTS: [[&str; 8]; 2] = [
    [
        "我上周和N去了P，买了T，花了不少时间。",
        "N说下个月要搬到P，我想送T给N。",
        "我很喜欢T，每个周末都会在P待一下午。",
        "昨天在P碰到N，聊了很久关于T的事。",
        "我对T过敏，去P的时候N一直提醒我。",
        "我最近在学T，N是我的老师，我们在P上课。",
        "N的生日快到了，我打算在P准备T。",
        "我不太喜欢P，人太多，不过N觉得那里的T很好。",
    ],
    [
        "Last week I went to <P> with <N> and bought <T>; it took a while.",
        "<N> is moving to <P> next month, and I want to give <T> as a present.",
        "I really like <T>, and I spend every weekend afternoon at <P>.",
        "Yesterday I met <N> at <P>, and we talked about <T> for a long time.",
        "I am allergic to <T>; <N> keeps reminding me whenever we go to <P>.",
        "I am learning about <T> these days. <N> teaches me, and we meet at <P>.",
        "It will soon be the birthday of <N>. I plan to get <T> and celebrate at <P>.",
        "I do not like <P> much because it is crowded, but <N> says that <T> is good there.",
    ],
];
/// Questions, with the same placeholders.
const QUESTIONS: [[&str; 6]; 2] = [
    [
        "你还记得我和N去了哪里吗？",
        "我在P做了什么来着？",
        "我之前说过喜欢T吗？",
        "N送过我T吗？",
        "上次去P是什么时候？",
        "我该给N准备什么礼物？",
    ],
    [
        "Do you remember where I went with <N>?",
        "What did I do at <P>?",
        "Did I tell you that I like <T>?",
        "Who talked with me about <T>?",
        "When was I at <P> the last time?",
        "What present should I get for <N>?",
    ],
];

/// Numbers that look like chance (splitmix64: Steele, Lea & Flood, 2014).
fn scrambled(number: usize) -> usize {
    let mut z = (number as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) as usize
}

fn filled(template: &str, language: usize, chance: usize) -> String {
    let [name, place, thing] =
        [NAMES[language][chance % 12], PLACES[language][chance / 12 % 12], THINGS[language][chance / 144 % 12]];
    if language == 0 {
        return template.replace('N', name).replace('P', place).replace('T', thing);
    }
    template.replace("<N>", name).replace("<P>", place).replace("<T>", thing)
}

/// Returns the name of a user. Users with an even number write Chinese.
pub(crate) fn user(number: usize) -> String {
    format!("user-{number}")
}

/// Returns a statement of a user.
pub(crate) fn statement(user: usize, number: usize) -> String {
    let chance = scrambled(user * 1_000_003 + number);
    filled(STATEMENTS[user % 2][chance % 8], user % 2, chance / 8)
}

/// Returns a question of a user.
pub(crate) fn question(user: usize, number: usize) -> String {
    let chance = scrambled(user * 1_000_003 + number + 500_000);
    filled(QUESTIONS[user % 2][chance % 6], user % 2, chance / 6)
}

/// Returns the message of a user in a round of a chat: two statements, then a question.
pub(crate) fn message(user: usize, number: usize) -> String {
    if number % 3 == 2 { question(user, number) } else { statement(user, number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_same_each_time_and_have_no_gaps() {
        for user in 0..4 {
            for number in 0..50 {
                let (text, question) = (statement(user, number), question(user, number));
                assert_eq!(text, statement(user, number));
                assert!(!text.contains('<') && !question.contains('<'), "{text} {question}");
                assert_eq!(text.is_ascii(), user % 2 == 1, "{text}");
            }
        }
    }
}
