//! How the value of a pattern is read: where it ends, what it may be, and into how many values it falls.

mod lists;

use std::sync::LazyLock;

use memory_core::text::is_han;
use regex::Regex;
use serde::Deserialize;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Read {
    /// The words as they stand, cut where the phrase ends.
    #[default]
    Plain,
    Name,
    FullName,
    Number,
    Date,
    Job,
    ZhJob,
    Org,
    ZhOrg,
    School,
    ZhSchool,
    Subject,
    Place,
    ZhPlace,
    ZhFrom,
    Person,
    Animal,
    List,
    Illness,
    Diet,
    Habit,
    Liked,
    ZhLiked,
    Favorite,
    Language,
    Skill,
    Owned,
    Doing,
}

impl Read {
    /// The values in what a pattern found; none when it is not what it should be.
    pub(crate) fn values(self, found: &str) -> Vec<String> {
        let found = found.trim();
        let one = |value: Option<String>| value.into_iter().collect();
        match self {
            Self::Plain => one(phrase(found, 8, 20)),
            Self::Name => one(name(found, false)),
            Self::FullName => one(name(found, true)),
            Self::Person => one(person(found)),
            Self::Number => one(number(found)),
            Self::Date => one(date(found)),
            Self::Job => one(job(found)),
            Self::ZhJob => one(zh_job(found)),
            Self::Org => one(org(found)),
            Self::ZhOrg => one(zh_org(found)),
            Self::School => one(capitalised(cut(found), 5).filter(|name| name.len() > 2)),
            Self::ZhSchool => one(zh_school(found)),
            Self::Subject => one(phrase(before_preposition(cut(found)), 4, 8)),
            Self::Place => one(place(found)),
            Self::ZhPlace => one(zh_place(found)),
            Self::ZhFrom => one(zh_from(found)),
            Self::Animal => one(phrase(found, 6, 12).filter(|value| {
                ![" about ", " of ", " for ", "question", "friend"].iter().any(|word| value.contains(word))
            })),
            Self::List => list(found),
            Self::Illness => one(illness(found)),
            Self::Diet => one(Some(found.to_lowercase())),
            Self::Habit => one(Some(habit(found))),
            Self::Liked => liked(found),
            Self::ZhLiked => zh_liked(found),
            Self::Favorite => one(phrase(found, 6, 14).filter(|value| !is_vague(value))),
            Self::Language => languages(found),
            Self::Skill => one(Some(found.to_lowercase())),
            Self::Owned => one(owned(found)),
            Self::Doing => one(doing(found)),
        }
    }
}

/// A text on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn regex(text: &str) -> Option<Regex> {
    Regex::new(&format!("(?i){text}").replace("\\b", "(?-u:\\b)")).ok()
}

macro_rules! patterns {
    ($($name:ident = $text:expr;)*) => {$(
        // A test compiles them all.
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| regex($text));
    )*
        #[cfg(test)]
        fn compiled() -> Vec<bool> {
            vec![$($name.is_some(),)*]
        }
    };
}

patterns! {
    CUT = r"(?:,|，)?\s+(?:but|because|cause|cuz|so|which|who|whom|when|whenever|where|while|since|if|unless|until|although|though|even|especially|too|also|either|anymore|any more|now|lately|nowadays|these days|right now|at the moment|recently|currently|actually|honestly|tbh|lol|haha|btw|however|like you|just like|as well|as i|as it|as a|as my|as much|so much|very much|a lot|a bit|as you|that|after|before|plus|rather|more than|than|today|tonight|yet|again|ever|already|thanks|please|whereas|despite|due to|thus|mostly|mainly|particularly|or something|or anything|and stuff|etc|again|altogether|anyway|for now|here|together|with you|w/|tho|dude|bro|toooo?|theyre|they're|in it|at the moment|in general)\b.*$|(?:,|，)?\s+and\s+(?:i|i'm|i've|it|it's|he|she|they|we|my|that|this|so|have|has|am|was|were|love|can|can't|will|now|then|also|would|want|need|do|don't|did|there|not|never|is|are|just|really|how|what|could|think|feel|hope|started|went|found|even|try|trying|know|everything|always|still|your|you|his|her|their|our|got|get|had|been|looking|would|i'd|i'll|believe|live|work|use|usually|often|currently)\b.*$|\s*[,，]\s*(?:i|it|he|she|they|we|my|and i|you|so|but|can|could|what|which|who|do|any|please|thanks|this|that|is|are|there|then|not|especially|and my|and it|and we|right|yeah|lol|haha|sorry|please|honestly|tbh|then|just|too|though|actually|how|where|when|let|would|should|or)\b.*$";
    PREPOSITION = r"\s+(?:at|in|on|for|from|with|by|to|into|about|near|during|without|under|over|as|like|and|or|of course)\b.*$";
    FILLER = r"^(?:the|a|an|any|some|all|most|my|our|certain|eating|drinking|having|raw|cooked)\s+";
    VAGUE = r"^(?:it|that|this|these|those|them|they|him|her|you|us|me|he|she|we|i|i'm|anything|something|everything|nothing|everyone|someone|somebody|nobody|much|many|more|less|lot|lots|one|ones|thing|things|stuff|way|part|time|idea|so|not|what|how|why|where|when|who|there|here|both|either|all|none|some|any|very|too|being|a|an|the|to|well|out|enough|few|bit|nothing|your|yours|his|hers|their|theirs|its|our|no|yes|same|better|most|just|only|if|really|doing so|guess)$";
    NAME_STOP = r"^(?:not|the|a|an|so|very|just|from|in|at|on|here|back|also|by|my|your|his|her|their|if|when|what|chinese|american|german|korean|indian|canadian|mexican|russian|italian|australian|british|french|english|japanese|spanish|new|happy|sorry|glad|going|looking|trying|working|really|currently|still|always|interested|excited|curious|sure|today|tomorrow|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july|august|september|october|november|december|later|back|names|maybe|crazy|old|it|that|this|i|and|or|but|is|was|has|who|mom|dad|mum|because|since|while|once|for|to|of|with|too|as|christmas|well|oh|yes|no|are|we|they|he|she|you|me|day|out|over|up)$";
    ZH_NAME_STOP = r"[去来吃做写看起回帮说想早晚再别不到下上给把被听买等走跑睡醒是了吗呢的得着过我你您他她它们很什么怎谁哪这那和跟与就都也还要会能在有没叫人家车]|外卖|客服|医生|老师好|爸|妈|加班|开会|上班|快|滚|过去|学习|一声|滴滴|快递|服务|救护";
    EN_ILLNESS = r"^(?:an? |some |really |very |bad |severe |mild |chronic |seasonal |type [12] |terrible |clinical |slight |stage \w+ )*(?:diabetes|asthma|migraines?|anxiety(?: disorder)?|depression|adhd|arthritis|hypertension|high blood pressure|low blood pressure|celiac(?: disease)?|ibs|insomnia|eczema|an[a]?emia|cancer|breast cancer|lung cancer|skin cancer|leukemia|epilepsy|autism|ocd|ptsd|bipolar(?: disorder)?|crohn's(?: disease)?|lupus|back pain|knee pain|psoriasis|pcos|endometriosis|sleep apnea|tinnitus|scoliosis|gout|hypothyroidism|hyperthyroidism|high cholesterol|osteoporosis|dyslexia|vertigo|bad back|bad knees?|bad eyesight|poor eyesight|hay fever|parkinson's|a heart condition|heart condition|heart disease|kidney disease|lactose intolerance|gluten intolerance|gluten sensitivity|\w+ (?:disease|disorder|syndrome|intolerance))\b";
    ZH_ILLNESS = r"^(?:轻度|中度|重度|严重的?|一点|先天性|慢性|急性|过敏性|点|遗传性)*\p{Han}{0,5}(?:糖尿病|高血压|低血压|低血糖|高血脂|近视|哮喘|抑郁症|焦虑症|强迫症|抑郁|焦虑|失眠|贫血|骨折|癌|结石|偏头痛|颈椎病|腰椎间盘突出|乳糖不耐受?|鼻炎|胃病|胃炎|肠炎|湿疹|散光|痛风|脂肪肝|多动症|心脏病|肺炎|咽炎|关节炎|结膜炎|荨麻疹|鼻窦炎|甲亢|甲减|白癜风|银屑病|自闭症|癫痫|色盲|恐高症?|幽闭恐惧症|密集恐惧症|洁癖|老毛病)";
    EN_LANGUAGE = r"\b(english|chinese|mandarin|cantonese|spanish|french|german|italian|portuguese|russian|japanese|korean|arabic|hindi|urdu|bengali|turkish|dutch|swedish|norwegian|danish|finnish|polish|czech|greek|hebrew|thai|vietnamese|indonesian|malay|tagalog|swahili|persian|farsi|ukrainian|hungarian|romanian|tamil|telugu|punjabi|latin|asl|sign language|catalan)\b";
    ZH_LANGUAGE = r"(普通话|英语|英文|中文|汉语|粤语|广东话|闽南语|闽南话|客家话|上海话|四川话|东北话|日语|日文|韩语|法语|德语|俄语|西班牙语|西语|葡萄牙语|意大利语|阿拉伯语|泰语|越南语|手语|拉丁语|荷兰语|土耳其语|瑞典语|印地语|希腊语)";
    ZH_OWNED = r"(?:车|电动车|手机|相机|电脑|吉他|钢琴|房子|公寓|别墅|手表|表|摩托|无人机|望远镜|平板|耳机|音箱|琴|键盘|投影仪|单反|古筝|游艇|跑步机|咖啡机|游戏机|打印机|路由器|\bps\d?|switch|特斯拉|宝马|奔驰|奥迪|比亚迪|本田|丰田|大众)$";
    EN_REGION = r"^(?:the|a) (?:small |big |quiet |little |tiny |rural |nice |coastal )*(?:countryside|suburbs|mountains|beach town|farm)\b|^a (?:small |big |quiet |little |tiny |rural |nice |coastal )(?:city|town|village)\b";
    LOWER_PLACE = r"^(nyc|new york(?: city)?|la|los angeles|sf|san francisco|seattle|chicago|boston|texas|austin|dallas|houston|miami|florida|california|london|paris|berlin|tokyo|beijing|shanghai|hong kong|taipei|singapore|china|japan|india|canada|toronto|vancouver|germany|france|italy|spain|mexico|brazil|australia|sydney|melbourne|korea|seoul|dubai|taiwan|england|the uk|uk|the us|the usa|usa|the states|sweden|norway|denmark|holland|amsterdam|vienna|rome|madrid|barcelona|lisbon|dublin|ireland|scotland|moscow|russia|istanbul|turkey|bangkok|thailand|vietnam|shenzhen|guangzhou|hangzhou|nanjing|chengdu|colorado|denver|portland|oregon|washington|atlanta|philadelphia|phoenix|arizona|hawaii|alaska|ohio|michigan|georgia|virginia|new jersey|brooklyn|manhattan|queens)\b";
    ZH_PLACE_STOP = r"一起|这里|那里|这儿|那儿|哪|这边|那边|我|你|他|她|它|附近|隔壁|旁边|对面|同一|什么|一楼|楼上|楼下|外面|不|没|里面|别人|前面|后面|[一两二三四五六七八九十\d]+(?:年|个月|天|楼|层)|电视|电影|新家|新房|酒店|医院|的地方|地方|时候|了[^，]|着|一个";
}

/// What comes before the next clause, without what trails behind.
fn cut(text: &str) -> &str {
    let end = CUT.as_ref().and_then(|cut| cut.find(text)).map_or(text.len(), |found| found.start());
    text[..end].trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '，' | '-' | '"' | '\''))
}

fn before_preposition(text: &str) -> &str {
    let end = PREPOSITION.as_ref().and_then(|cut| cut.find(text)).map_or(text.len(), |found| found.start());
    text[..end].trim()
}

fn bare(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(found) = FILLER.as_ref().and_then(|filler| filler.find(text)) {
        text = text[found.end()..].trim_start();
    }
    text
}

fn holds(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|regex| regex.is_match(text))
}

fn found<'t>(pattern: &LazyLock<Option<Regex>>, text: &'t str) -> Option<&'t str> {
    pattern.as_ref().and_then(|regex| regex.find(text)).map(|found| found.as_str())
}

fn is_vague(value: &str) -> bool {
    holds(&VAGUE, value.split_whitespace().next().unwrap_or_default()) || holds(&VAGUE, value)
}

fn has_han(text: &str) -> bool {
    text.chars().any(is_han)
}

/// The particles and modal words that trail behind a Chinese phrase, taken off.
fn zh_bare(text: &str) -> &str {
    const TRAILING: &[&str] = &[
        "了",
        "的",
        "呢",
        "啊",
        "呀",
        "哦",
        "哈",
        "吧",
        "嘛",
        "啦",
        "喔",
        "哟",
        "噢",
        "来着",
        "而已",
        "什么的",
        "之类的",
        "等等",
        "这些",
        "耶",
        "捏",
        "滴",
        "～",
    ];
    let mut text = text.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '《' | '》' | '+' | '#'));
    while let Some(rest) = TRAILING.iter().find_map(|end| text.strip_suffix(end)) {
        text = rest.trim_end();
    }
    text
}

/// A phrase of at most so many words, or of so many Chinese characters.
fn phrase(text: &str, words: usize, characters: usize) -> Option<String> {
    let text = if has_han(text) { zh_bare(text) } else { cut(text) };
    let text = ["actually ", "probably ", "definitely ", "also "]
        .iter()
        .find_map(|word| text.strip_prefix(word))
        .unwrap_or(text);
    let fits =
        if has_han(text) { text.chars().count() <= characters } else { text.split_whitespace().count() <= words };
    (fits && !text.is_empty() && !is_vague(text) && !says_you(text)).then(|| one_line(text))
}

fn says_you(text: &str) -> bool {
    ["我", "你", "您", "他", "她", "它", "吗", "什么", "谁", "哪", "怎么", "多少", "这", "那"]
        .iter()
        .any(|word| text.contains(word))
}

fn name(text: &str, strict: bool) -> Option<String> {
    if text.chars().next().is_some_and(is_han) {
        const TRAILING: &[&str] = &[
            "就可以了",
            "就可以",
            "就行了",
            "就好了",
            "就行",
            "就好",
            "就是",
            "好了",
            "哦",
            "吧",
            "啦",
            "呀",
            "喔",
            "啊",
            "哈",
            "呢",
        ];
        let mut bare = text.trim();
        while let Some(rest) = TRAILING.iter().find_map(|end| bare.strip_suffix(end)) {
            bare = rest;
        }
        let (least, most) = if strict { (2, 4) } else { (1, 6) };
        let fits =
            (least..=most).contains(&bare.chars().count()) && bare.chars().all(|c| c.is_alphanumeric() || c == '·');
        return (fits && !holds(&ZH_NAME_STOP, bare)).then(|| bare.to_owned());
    }
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        let plain = word.trim_end_matches([',', '，', '\'', '"']);
        let capital = plain.chars().next().is_some_and(char::is_uppercase);
        let first = words.is_empty();
        if holds(&NAME_STOP, plain)
            || !(capital || first && !strict)
            || plain.chars().any(|c| !(c.is_alphabetic() || matches!(c, '\'' | '-' | '.')))
        {
            break;
        }
        words.push(plain);
        if plain.len() < word.len() || !capital || words.len() == 3 {
            break;
        }
    }
    // One word in small letters is a name only where nothing follows.
    let whole = words.first().is_some_and(|first| first.chars().next().is_some_and(char::is_uppercase))
        || cut(text).split_whitespace().count() == 1;
    let joined = words.join(" ").trim_end_matches(han_end).to_owned();
    (whole && joined.chars().count() >= 2 - usize::from(!strict)).then_some(joined).filter(|name| !name.is_empty())
}

fn han_end(c: char) -> bool {
    is_han(c)
}

fn person(text: &str) -> Option<String> {
    if has_han(text) {
        let bare = zh_bare(text);
        let fits = (2..=4).contains(&bare.chars().count()) && !holds(&ZH_NAME_STOP, bare);
        return fits.then(|| bare.to_owned());
    }
    name(cut(text), true).filter(|name| name.chars().count() > 1)
}

fn number(text: &str) -> Option<String> {
    let value = match text.parse::<u32>() {
        Ok(value) => value,
        Err(_) => lists::spelled(text)?,
    };
    (1..=120).contains(&value).then(|| value.to_string())
}

fn date(text: &str) -> Option<String> {
    if has_han(text) {
        let bare = zh_bare(text).trim_end_matches("出生").trim_end_matches('生');
        let fits = bare.chars().count() <= 12
            && (bare.contains('月') || bare.contains('年'))
            && bare.chars().any(|c| c.is_ascii_digit() || "一二三四五六七八九十正腊".contains(c));
        return (fits && !says_you(bare)).then(|| bare.to_owned());
    }
    let bare = cut(text).trim_start_matches("on ").trim_start_matches("in ");
    let lower = bare.to_lowercase();
    let month = lists::MONTHS.iter().any(|month| lower.contains(month));
    let year = bare.len() == 4 && bare.parse::<u32>().is_ok_and(|year| (1900..2100).contains(&year));
    ((month && bare.chars().any(|c| c.is_ascii_digit()) && bare.split_whitespace().count() <= 5) || year)
        .then(|| bare.to_owned())
}

fn job(text: &str) -> Option<String> {
    let bare = before_preposition(cut(text));
    let bare = bare
        .strip_prefix("a ")
        .or_else(|| bare.strip_prefix("an "))
        .or_else(|| bare.strip_prefix("the "))
        .unwrap_or(bare);
    let lower = bare.to_lowercase();
    let last = lower.rsplit([' ', '-']).next()?;
    let known = lists::JOBS.contains(&last) || lists::JOBS.iter().any(|job| job.contains(' ') && lower.ends_with(job));
    let unsure = [
        "aspiring ",
        "good ",
        "bad ",
        "great ",
        "better ",
        "terrible ",
        "former ",
        "retired ",
        "future ",
        "would-be ",
        "wannabe ",
        "natural ",
        "born ",
    ];
    let unsure = unsure.iter().any(|word| lower.starts_with(word));
    (known && !unsure && bare.split_whitespace().count() <= 5).then(|| one_line(bare))
}

fn zh_job(text: &str) -> Option<String> {
    let bare = zh_bare(text);
    // "在医院做护士": the job is what comes last.
    let bare = ["做", "当", "的"]
        .iter()
        .filter_map(|mark| bare.rsplit_once(mark))
        .map(|(_, job)| job)
        .min_by_key(|job| job.len())
        .unwrap_or(bare);
    let bare =
        ["一名", "一位", "一个", "个", "名", "位"].iter().find_map(|word| bare.strip_prefix(word)).unwrap_or(bare);
    let known = lists::ZH_JOBS.iter().any(|job| bare.ends_with(job));
    (known && bare.chars().count() <= 10 && !says_you(bare) && !bare.contains(['不', '想', '没', '像']))
        .then(|| bare.to_owned())
}

fn org(text: &str) -> Option<String> {
    let stop =
        [" as ", " in ", " on ", " from ", " with ", " to ", " doing ", " and ", " by ", " for ", " full", " part"];
    let bare = cut(text);
    let end = stop.iter().filter_map(|word| bare.find(word)).min().unwrap_or(bare.len());
    let bare = bare[..end].trim_end_matches([',', ' ']);
    let first = bare.split_whitespace().next()?;
    let article = matches!(first.to_lowercase().as_str(), "a" | "an" | "the" | "our");
    let capital = bare.chars().next().is_some_and(char::is_uppercase);
    let words = bare.split_whitespace().count();
    let lower = bare.to_lowercase();
    let noun = lists::WORKPLACES.iter().any(|place| lower.split(' ').any(|word| word == *place));
    let fits = (capital && words <= 5 && !holds(&NAME_STOP, first)) || (article && words <= 6 && noun);
    (fits && !lower.contains("hour") && !lower.contains("while")).then(|| one_line(bare))
}

fn zh_org(text: &str) -> Option<String> {
    let bare = zh_bare(text);
    let reject = [
        "努力",
        "认真",
        "加班",
        "拼命",
        "好好",
        "外面",
        "这",
        "那",
        "什么",
        "哪",
        "一起",
        "同一",
        "地方",
        "时",
        "想",
        "要",
        "考虑",
        "忙",
        "正常",
        "线上",
        "周末",
        "今天",
        "我",
        "你",
        "他",
        "她",
        "专心",
        "不",
        "没",
        "公司里",
        "办公室",
    ];
    let exact = ["家", "公司", "单位", "里", "家里", "学校", "外地", "老家", "那边", "远程"];
    let fits = (2..=18).contains(&bare.chars().count())
        && !exact.contains(&bare)
        && !reject.iter().any(|word| bare.contains(word));
    fits.then(|| bare.to_owned())
}

fn zh_school(text: &str) -> Option<String> {
    let bare = zh_bare(text);
    let school = [
        "大学", "学院", "中学", "高中", "小学", "一中", "二中", "附中", "清华", "北大", "复旦", "浙大", "交大", "科大",
        "职高", "中专", "师大",
    ];
    let fits = bare.chars().count() <= 15
        && school.iter().any(|word| bare.contains(word))
        && !["大学", "高中", "小学", "中学"].contains(&bare);
    (fits && !says_you(bare) && !bare.contains(['不', '没', '在'])).then(|| bare.to_owned())
}

/// The capitalised words that a text begins with, small ones between them included.
fn capitalised(text: &str, most: usize) -> Option<String> {
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        let plain = word.trim_end_matches([',', '，']);
        let capital = plain.chars().next().is_some_and(char::is_uppercase) && plain != "I" && !plain.starts_with("I'");
        let joins = !words.is_empty() && matches!(plain, "of" | "de" | "the" | "la" | "del" | "upon" | "at")
            || (words.is_empty() && plain == "the");
        if !(capital || joins) || words.len() == most {
            break;
        }
        words.push(plain.to_owned());
        if plain.len() < word.len() {
            let next = text.split_whitespace().nth(words.len());
            // "Austin, Texas" goes on, "Austin, I moved" does not.
            let goes_on = next.is_some_and(|next| {
                next.chars().next().is_some_and(char::is_uppercase) && next != "I" && !next.starts_with("I'")
            });
            if !goes_on {
                break;
            }
            if let Some(last) = words.last_mut() {
                last.push(',');
            }
        }
    }
    while words.last().is_some_and(|word| !word.chars().next().is_some_and(char::is_uppercase)) {
        words.pop();
    }
    let name = words.join(" ");
    name.chars().any(char::is_uppercase).then(|| name.trim_end_matches("'s").trim_end_matches(',').to_owned())
}

fn place(text: &str) -> Option<String> {
    if let Some(region) = found(&EN_REGION, text) {
        return Some(region.to_lowercase());
    }
    let name = capitalised(text, 5);
    if let (None, Some(known)) = (&name, found(&LOWER_PLACE, text)) {
        let rest = text[known.len()..].trim_start();
        return (!rest.starts_with("based")).then(|| one_line(known));
    }
    let name = name?;
    let first = name.strip_prefix("the ").unwrap_or(&name).split([' ', ',']).next()?;
    let plain = holds(&NAME_STOP, first) && !(first == "New" && name.contains(' '));
    let acronym = name.starts_with("the ")
        && first.len() > 1
        && first.chars().all(char::is_uppercase)
        && !matches!(first, "UK" | "US" | "USA" | "UAE");
    (!acronym && !plain && first.len() > 1).then_some(name)
}

fn zh_place(text: &str) -> Option<String> {
    const VERBS: &[&str] = &[
        "工作",
        "上班",
        "读书",
        "上学",
        "生活",
        "已经",
        "快",
        "好久",
        "很久",
        "挺",
        "这边",
        "那边",
        "，",
        "住",
        "定居",
        "上大学",
        "呢",
        "啦",
        "有",
    ];
    let end = VERBS.iter().filter_map(|verb| text.find(verb)).min().unwrap_or(text.len());
    let bare = zh_bare(&text[..end]);
    let fits = (2..=12).contains(&bare.chars().count()) && !holds(&ZH_PLACE_STOP, bare) && !says_you(bare);
    let place = lists::ZH_PLACES.iter().any(|place| bare.contains(place))
        || [
            "省", "市", "区", "县", "镇", "村", "路", "街", "州", "岛", "国", "湾", "郊", "城", "乡下", "农村", "宿舍",
            "小区", "学校",
        ]
        .iter()
        .any(|end| bare.ends_with(end));
    (fits && place).then(|| bare.to_owned())
}

fn zh_from(text: &str) -> Option<String> {
    let bare = text.trim_start_matches("地道的").trim_start_matches("土生土长的").trim_start_matches('个');
    let known = lists::ZH_PLACES.contains(&bare);
    let ends = bare.chars().count() >= 3 && ["省", "市", "县", "州"].iter().any(|end| bare.ends_with(end));
    let parts = bare.chars().count() <= 8
        && lists::ZH_PLACES.iter().any(|place| bare.starts_with(place))
        && !bare.contains('的');
    ((known || ends || parts) && !says_you(bare)).then(|| bare.to_owned())
}

/// The parts of an enumeration.
fn parts(text: &str) -> Vec<String> {
    let mut list = text.to_owned();
    for mark in [", and ", ", or ", " and ", " or ", " & ", "以及", "还有", "或者", "、", "和", "跟", "，", "或", "与"]
    {
        let inside_word = matches!(mark, "和" | "跟" | "与" | "或")
            && ["平和", "温和", "和平", "和牛", "跟风", "参与", "与众", "和果子", "和服", "高跟", "跟拍"]
                .iter()
                .any(|word| list.contains(word));
        if !inside_word {
            list = list.replace(mark, ",");
        }
    }
    list.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

fn list(text: &str) -> Vec<String> {
    if has_han(text) {
        const NOT_FOOD: &[&str] = &[
            "饭",
            "早饭",
            "午饭",
            "晚饭",
            "早餐",
            "午餐",
            "晚餐",
            "夜宵",
            "亏",
            "药",
            "东西",
            "零食",
            "了",
            "准",
            "到",
            "起",
            "饱",
            "惯",
            "下",
            "完",
            "多",
            "素",
            "太多",
            "别的",
            "其他",
            "水",
            "一点",
            "肉类以外",
            "香",
        ];
        let reject = |part: &str| {
            NOT_FOOD.contains(&part)
                || part
                    .starts_with(['了', '下', '完', '到', '得', '起', '太', '也', '就', '都', '不', '是', '会', '的'])
                || part.contains(['不', '没', '会', '就', '吃', '喝', '才', '要', '对'])
                || says_you(part)
        };
        let bare = |part: &str| {
            let part = zh_bare(part);
            ["所有的", "任何", "各种", "一切", "太"]
                .iter()
                .find_map(|all| part.strip_prefix(all))
                .unwrap_or(part)
                .to_owned()
        };
        let items: Vec<String> = parts(zh_bare(text)).iter().map(|part| bare(part)).collect();
        return items
            .into_iter()
            .filter(|part| !part.is_empty() && part.chars().count() <= 8 && !reject(part))
            .collect();
    }
    let reject = |part: &str| {
        is_vague(part)
            || [
                "breakfast",
                "lunch",
                "dinner",
                "meals",
                "food",
                "medicine",
                "work",
                "school",
                "yet",
                "well",
                "like",
                "until",
                "water",
                "enough",
                "late",
                "right",
            ]
            .contains(&part)
    };
    let items = parts(cut(text)).into_iter().map(|part| bare(before_preposition(&part)).to_owned());
    // What cannot be an item ends the enumeration.
    items
        .take_while(|part| !part.is_empty() && part.split_whitespace().count() <= 4 && !reject(&part.to_lowercase()))
        .collect()
}

fn illness(text: &str) -> Option<String> {
    if has_han(text) {
        let bare = zh_bare(text);
        let known = found(&ZH_ILLNESS, bare).filter(|known| {
            known.chars().count() >= 2
                && !known.trim_end_matches("不耐受").trim_end_matches("不耐").contains(['不', '没', '人', '的', '家'])
        })?;
        return (bare.chars().count() <= known.chars().count() + 4)
            .then(|| known.trim_start_matches(['点', '一']).to_owned());
    }
    lists::condition(&text.to_lowercase())
        .map(str::to_owned)
        .or_else(|| found(&EN_ILLNESS, text).map(|known| bare(known).to_owned()))
}

fn habit(text: &str) -> String {
    let lower = text.to_lowercase();
    let known = match lower.as_str() {
        "smoke" | "smoker" => "smoking",
        "drink" | "drinking" | "alcohol" | "drink alcohol" => "drinking alcohol",
        "vape" => "vaping",
        "coffee" | "caffeine" | "sugar" | "soda" | "weed" => lower.as_str(),
        "烟" | "吸烟" => "抽烟",
        "酒" => "喝酒",
        "糖" => "吃糖",
        "咖啡" | "喝一杯咖啡" => "喝咖啡",
        "奶茶" => "喝奶茶",
        "赌" => "赌博",
        "网瘾" => "沉迷网络",
        other => other,
    };
    known.to_owned()
}

fn liked(text: &str) -> Vec<String> {
    let whole = text;
    let text = cut(text).split(" - ").next().unwrap_or_default().trim();
    // "stories that tackle …" are not stories.
    let rest = whole[whole.find(text).map_or(0, |at| at + text.len())..].trim_start();
    let narrowed = [
        "that ",
        "who ",
        "which ",
        "when ",
        "where ",
        "while ",
        "if ",
        "as ",
        "even ",
        "more",
        "rather",
        "other than",
        "than ",
        "too much",
        "too many",
    ];
    if narrowed.iter().any(|word| rest.starts_with(word)) {
        return Vec::new();
    }
    let text = text
        .trim_end_matches(" the most")
        .trim_end_matches(" more")
        .trim_end_matches(" the best")
        .trim_end_matches(" better");
    let text = text.split(" other than").next().unwrap_or(text);
    let text = text.split(" over ").next().unwrap_or(text).split(" instead").next().unwrap_or(text);
    let lower = text.to_lowercase();
    let the = [
        "the beach",
        "the ocean",
        "the sea",
        "the outdoors",
        "the mountains",
        "the snow",
        "the rain",
        "the gym",
        "the countryside",
        "the cold",
        "the heat",
        "the theater",
        "the piano",
        "the guitar",
    ];
    if lower.starts_with("the ") && !the.iter().any(|known| lower.starts_with(known)) {
        return Vec::new();
    }
    let text = ["also ", "actually ", "probably ", "definitely ", "just "]
        .iter()
        .find_map(|word| text.strip_prefix(word))
        .unwrap_or(text);
    let stop = [
        "my ",
        "our ",
        "to be ",
        "to have ",
        "to say ",
        "to hear ",
        "to see ",
        "to know ",
        "to think ",
        "to believe ",
        "to get ",
        "being ",
        "having ",
        "hearing ",
        "seeing ",
        "knowing ",
        "getting ",
        "every ",
        "when ",
        "how ",
        "what ",
        "that ",
        "all ",
        "it ",
        "feeling ",
        "one ",
        "such ",
        "making sure",
        "to go ",
        "a good ",
        "a little ",
        "a lot ",
        "an ",
        "a ",
        "to make sure",
        "talking to you",
        "spending time",
        "sharing ",
        "both ",
        "having ",
        "working with",
        "and ",
        "to do ",
        "just ",
        "watching ",
        "seeing ",
        "meeting ",
        "creating ",
        "taking ",
        "finding ",
        "to keep ",
        "to use ",
        "to start ",
        "to try ",
        "to share ",
        "to add ",
        "to make ",
        "living ",
        "helping ",
        "to help ",
        "to focus ",
        "going ",
        "connecting ",
        "doing ",
    ];
    let allowed = [
        "a good book",
        "a good cup",
        "watching tv",
        "watching movies",
        "watching films",
        "watching anime",
        "watching sports",
        "watching football",
        "watching basketball",
        "watching documentaries",
        "taking photos",
        "taking pictures",
        "taking walks",
        "going to the",
        "going for",
        "meeting new people",
        "making ",
    ];
    if stop.iter().any(|word| lower.starts_with(word)) && !allowed.iter().any(|word| lower.starts_with(word)) {
        return Vec::new();
    }
    let own = |part: &str| {
        part.split_whitespace().any(|word| {
            matches!(
                word.to_lowercase().trim_matches('\''),
                "you"
                    | "your"
                    | "it"
                    | "it's"
                    | "that"
                    | "this"
                    | "these"
                    | "those"
                    | "us"
                    | "he"
                    | "she"
                    | "his"
                    | "her"
                    | "him"
                    | "their"
                    | "them"
                    | "they"
                    | "i"
                    | "i'm"
                    | "my"
                    | "we"
                    | "our"
                    | "one"
                    | "me"
                    | "myself"
                    | "there"
                    | "such"
                    | "is"
                    | "are"
                    | "was"
            )
        })
    };
    let items = match parts(text) {
        // "electronic and rock music", "hot or warm water" share a head; "A, B" without a last "and" may be anything.
        items if items.len() > 1 && !text.contains(',') && (!alike(&items) || text.contains(" or ")) => {
            vec![text.to_owned()]
        }
        items if items.len() > 1 && !text.contains(" and ") && !text.contains(" or ") && !text.contains(" & ") => {
            Vec::new()
        }
        items => items,
    };
    let fits = |part: &String| {
        part.split_whitespace().count() <= 6 && !is_vague(part) && !own(part) && part.chars().count() > 1
    };
    if items.iter().all(fits) {
        items
    } else {
        items.into_iter().take_while(fits).take(usize::from(!lower.contains(',')) * 9).collect()
    }
}

/// Whether the items of an enumeration are of one form, so that each stands by itself.
fn alike(items: &[String]) -> bool {
    let words = |item: &String| item.split_whitespace().count();
    let gerund = |item: &String| item.split_whitespace().next().is_some_and(|first| first.ends_with("ing"));
    let plural = |item: &String| item.ends_with('s');
    items.iter().all(|item| words(item) == 1)
        || items.iter().all(gerund)
        || items.iter().rev().skip(1).all(|item| plural(item) || words(item) > 1)
}

fn zh_liked(text: &str) -> Vec<String> {
    let text = text.strip_prefix("的是").unwrap_or(text);
    if text.starts_with(['的', '上', '得', '过', '着', '了', '就', '不'])
        && !["上网", "上山", "上海"].iter().any(|word| text.starts_with(word))
    {
        return Vec::new();
    }
    let items: Vec<String> =
        parts(zh_bare(text)).iter().map(|part| zh_bare(part).to_owned()).filter(|part| !part.is_empty()).collect();
    let reject = |part: &str| {
        let unsure = [
            "一个人",
            "对方",
            "别人说",
            "某",
            "有人",
            "自己",
            "大家",
            "时候",
            "上了",
            "同学",
            "老师说",
            "死",
            "极了",
            "东西",
            "感觉",
            "事情",
            "如此",
            "得",
        ];
        part.chars().count() > 12
            || part.starts_with(['了', '的', '上', '过', '就', '被', '把'])
            || says_you(part)
            || unsure.iter().any(|word| part == *word || (word.chars().count() > 1 && part.contains(word)))
            || part.ends_with(['不', '没', '人'])
    };
    items.into_iter().take_while(|part| !reject(part)).collect()
}

fn languages(text: &str) -> Vec<String> {
    let pattern = if has_han(text) { &ZH_LANGUAGE } else { &EN_LANGUAGE };
    // Only what the text begins with: "know the English teacher" speaks nothing.
    let parts = parts(if has_han(text) { text } else { cut(text) });
    let whole = |part: &String| {
        let found = found(pattern, part)?;
        let around = part.chars().count() - found.chars().count();
        (around <= if has_han(part) { 4 } else { 10 } && !part.to_lowercase().contains("teacher"))
            .then(|| found.to_owned())
    };
    parts.iter().map_while(whole).collect()
}

fn owned(text: &str) -> Option<String> {
    if has_han(text) {
        let bare = zh_bare(text);
        return holds(&ZH_OWNED, bare).then(|| {
            if bare.starts_with('一')
                || bare.chars().count() == 1
                || !bare.starts_with(['辆', '台', '部', '套', '架', '把', '块', '支'])
            {
                bare.to_owned()
            } else {
                format!("一{bare}")
            }
        });
    }
    let bare = before_preposition(cut(text));
    let bare = bare.strip_prefix("a ").or_else(|| bare.strip_prefix("an ")).unwrap_or(bare);
    let lower = bare.to_lowercase();
    let unsure = [
        "bit",
        "lot",
        "few",
        "little",
        "hard bargain",
        "bargain",
        "share",
        "ton",
        "couple",
        "chance",
        "taxi",
        "bus",
        "train",
    ]
    .iter()
    .any(|word| lower.split(' ').any(|w| w == *word));
    (!unsure && !bare.is_empty() && bare.split_whitespace().count() <= 5).then(|| one_line(bare))
}

fn doing(text: &str) -> Option<String> {
    if has_han(text) {
        let bare = zh_bare(text);
        let fits = (2..=14).contains(&bare.chars().count())
            && !says_you(bare)
            && !["想", "做梦", "做饭", "做什么", "看你", "学会", "忙着", "忙", "做", "追", "看", "读", "考虑"]
                .contains(&bare);
        return fits.then(|| bare.to_owned());
    }
    let bare = cut(text);
    let words = bare.split_whitespace().count();
    let own = bare
        .split_whitespace()
        .any(|word| matches!(word.to_lowercase().as_str(), "you" | "your" | "it" | "this" | "that"));
    (2..=9).contains(&words).then(|| one_line(bare)).filter(|_| !own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles() {
        assert!(compiled().into_iter().all(|compiled| compiled));
    }

    #[test]
    fn enumerations_fall_into_their_items() {
        assert_eq!(
            Read::List.values("peanuts, shellfish and cats, so please be careful"),
            ["peanuts", "shellfish", "cats"]
        );
        assert_eq!(Read::List.values("海鲜、花生和芒果"), ["海鲜", "花生", "芒果"]);
        assert_eq!(Read::Liked.values("hiking and camping in the mountains"), ["hiking", "camping in the mountains"]);
        assert!(Read::Liked.values("your new painting").is_empty());
    }

    #[test]
    fn names_places_and_jobs_end_where_they_end() {
        assert_eq!(Read::Name.values("Sam and I live here"), ["Sam"]);
        assert_eq!(Read::Name.values("小雨就好"), ["小雨"]);
        assert_eq!(Read::Place.values("Austin, Texas with my dog"), ["Austin, Texas"]);
        assert_eq!(Read::ZhPlace.values("上海浦东工作"), ["上海浦东"]);
        assert_eq!(Read::Job.values("a senior software engineer at Acme"), ["senior software engineer"]);
        assert!(Read::Job.values("a night owl").is_empty());
        assert_eq!(Read::Number.values("twenty-seven"), ["27"]);
        assert_eq!(Read::Number.values("二十七"), ["27"]);
    }
}
