//! Made-up talk: the same on every machine, half Chinese and half English, with words as unevenly used as real ones.

const WHO: &[&str] =
    &["我", "你", "妈妈", "小林", "老板", "室友", "I", "my sister", "Kai", "the neighbour", "our team", "Mei"];
const DOES: &[&str] = &[
    "喜欢",
    "讨厌",
    "忘了",
    "买了",
    "预订了",
    "修好了",
    "想念",
    "发现了",
    "搬走了",
    "练习",
    "likes",
    "hates",
    "forgot",
    "bought",
    "booked",
    "repaired",
    "misses",
    "found",
    "moved away from",
    "practises",
];
const WHAT: &[&str] = &[
    "海鲜火锅",
    "手冲咖啡",
    "小提琴",
    "京都的旅馆",
    "面试的时间",
    "黄铜钥匙",
    "半程马拉松",
    "docker 部署",
    "猫的疫苗",
    "房租",
    "地铁十号线",
    "生日蛋糕",
    "the lighthouse",
    "a second-hand violin",
    "the port number",
    "her passport",
    "the marathon",
    "green tea",
    "the train to Suzhou",
    "a broken kettle",
    "the old map",
    "jazz records",
    "the visa form",
    "our cat",
];
const WHEN: &[&str] = &[
    "昨天",
    "下周三",
    "去年夏天",
    "三月五号",
    "晚上八点",
    "前天",
    "yesterday",
    "next Friday",
    "in May",
    "last summer",
    "on the 5th",
    "at half past eight",
];
const ENDS: &[&str] = &[
    "真的很开心",
    "有点累",
    "以后再说吧",
    "你觉得呢",
    "别告诉别人",
    "what do you think?",
    "it was worth it",
    "never again",
    "don't tell anyone",
    "I will send you a photo",
];

/// A speaker that never runs out of things to say.
#[derive(Debug)]
pub(crate) struct Conversation(u64);

impl Conversation {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One turn of some thirty to eighty characters, with a number of its own.
    pub(crate) fn turn(&mut self) -> String {
        let number = self.next() % 100_000;
        format!(
            "{}{} {} {}，{} {} #{number}",
            self.pick(WHEN),
            self.pick(WHO),
            self.pick(DOES),
            self.pick(WHAT),
            self.pick(WHAT),
            self.pick(ENDS)
        )
    }

    /// A question about such turns.
    pub(crate) fn question(&mut self) -> String {
        format!("{} {} {}?", self.pick(WHO), self.pick(DOES), self.pick(WHAT))
    }

    /// The first ones far more often than the last: word n about 1/n as often.
    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        let uniform = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let place = (words.len() as f64).powf(uniform) - 1.0;
        words[(place as usize).min(words.len() - 1)]
    }

    /// SplitMix64 (Steele, Lea & Flood, 2014).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
