//! Where a phrase ends, and the words that readers of values know it by.

use std::sync::LazyLock;

use memory_engine_core::text::is_han;
use regex::Regex;

use super::one_line;

pub(super) fn regex(text: &str) -> Option<Regex> {
    Regex::new(&format!("(?i){text}").replace("\\b", "(?-u:\\b)")).ok()
}

macro_rules! patterns {
    ($($name:ident = $text:expr;)*) => {$(
        // A test compiles them all.
        pub(super) static $name: LazyLock<Option<Regex>> = LazyLock::new(|| regex($text));
    )*
        #[cfg(test)]
        pub(super) fn compiled() -> Vec<bool> {
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
pub(super) fn cut(text: &str) -> &str {
    let end = CUT.as_ref().and_then(|cut| cut.find(text)).map_or(text.len(), |found| found.start());
    text[..end].trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '，' | '-' | '"' | '\''))
}

pub(super) fn before_preposition(text: &str) -> &str {
    let end = PREPOSITION.as_ref().and_then(|cut| cut.find(text)).map_or(text.len(), |found| found.start());
    text[..end].trim()
}

pub(super) fn bare(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(found) = FILLER.as_ref().and_then(|filler| filler.find(text)) {
        text = text[found.end()..].trim_start();
    }
    text
}

pub(super) fn holds(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|regex| regex.is_match(text))
}

pub(super) fn found<'t>(pattern: &LazyLock<Option<Regex>>, text: &'t str) -> Option<&'t str> {
    pattern.as_ref().and_then(|regex| regex.find(text)).map(|found| found.as_str())
}

pub(super) fn is_vague(value: &str) -> bool {
    holds(&VAGUE, value.split_whitespace().next().unwrap_or_default()) || holds(&VAGUE, value)
}

pub(super) fn has_han(text: &str) -> bool {
    text.chars().any(is_han)
}

/// The particles and modal words that trail behind a Chinese phrase, taken off.
pub(super) fn zh_bare(text: &str) -> &str {
    const TRAILING: &str = "了|的|呢|啊|呀|哦|哈|吧|嘛|啦|喔|哟|噢|来着|而已|什么的|之类的|等等|这些|耶|捏|滴|～";
    let mut text = text.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '《' | '》' | '+' | '#'));
    while let Some(rest) = TRAILING.split('|').find_map(|end| text.strip_suffix(end)) {
        text = rest.trim_end();
    }
    text
}

/// A phrase of at most so many words, or of so many Chinese characters.
pub(super) fn phrase(text: &str, words: usize, characters: usize) -> Option<String> {
    let text = if has_han(text) { zh_bare(text) } else { cut(text) };
    let text = ["actually ", "probably ", "definitely ", "also "]
        .iter()
        .find_map(|word| text.strip_prefix(word))
        .unwrap_or(text);
    let fits =
        if has_han(text) { text.chars().count() <= characters } else { text.split_whitespace().count() <= words };
    (fits && !text.is_empty() && !is_vague(text) && !says_you(text)).then(|| one_line(text))
}

pub(super) fn says_you(text: &str) -> bool {
    ["我", "你", "您", "他", "她", "它", "吗", "什么", "谁", "哪", "怎么", "多少", "这", "那"]
        .iter()
        .any(|word| text.contains(word))
}

/// The parts of an enumeration.
pub(super) fn parts(text: &str) -> Vec<String> {
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
