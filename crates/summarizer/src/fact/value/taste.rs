//! Likings, food, illnesses, and what somebody has and can do.

use super::{
    lists, one_line,
    phrase::{
        EN_ILLNESS, EN_LANGUAGE, ZH_ILLNESS, ZH_LANGUAGE, ZH_OWNED, bare, before_preposition, cut, found, has_han,
        holds, is_vague, parts, says_you, zh_bare,
    },
};

pub(super) fn list(text: &str) -> Vec<String> {
    if has_han(text) {
        const NOT_FOOD: &str = "饭|早饭|午饭|晚饭|早餐|午餐|晚餐|夜宵|亏|药|东西|零食|了|准|到|起|饱|惯|下|完|多|素|太多|别的|\
        其他|水|一点|肉类以外|香";
        let reject = |part: &str| {
            NOT_FOOD.split('|').any(|known| known == part)
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

pub(super) fn illness(text: &str) -> Option<String> {
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

pub(super) fn habit(text: &str) -> String {
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

pub(super) fn liked(text: &str) -> Vec<String> {
    let whole = text;
    let text = cut(text).split(" - ").next().unwrap_or_default().trim();
    // "stories that tackle …" are not stories.
    let rest = whole[whole.find(text).map_or(0, |at| at + text.len())..].trim_start();
    let narrowed = "that |who |which |when |where |while |if |as |even |more|rather|other than|than |too much|\
        too many";
    if narrowed.split('|').any(|word| rest.starts_with(word)) {
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
    let the = "the beach|the ocean|the sea|the outdoors|the mountains|the snow|the rain|the gym|\
        the countryside|the cold|the heat|the theater|the piano|the guitar";
    if lower.starts_with("the ") && !the.split('|').any(|known| lower.starts_with(known)) {
        return Vec::new();
    }
    let text = ["also ", "actually ", "probably ", "definitely ", "just "]
        .iter()
        .find_map(|word| text.strip_prefix(word))
        .unwrap_or(text);
    let stop = "my |our |to be |to have |to say |to hear |to see |to know |to think |to believe |to get |being |\
        having |hearing |seeing |knowing |getting |every |when |how |what |that |all |it |feeling |one |\
        such |making sure|to go |a good |a little |a lot |an |a |to make sure|talking to you|\
        spending time|sharing |both |having |working with|and |to do |just |watching |seeing |meeting |\
        creating |taking |finding |to keep |to use |to start |to try |to share |to add |to make |\
        living |helping |to help |to focus |going |connecting |doing ";
    let allowed = "a good book|a good cup|watching tv|watching movies|watching films|watching anime|\
        watching sports|watching football|watching basketball|watching documentaries|taking photos|\
        taking pictures|taking walks|going to the|going for|meeting new people|making ";
    if stop.split('|').any(|word| lower.starts_with(word)) && !allowed.split('|').any(|word| lower.starts_with(word)) {
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
pub(super) fn alike(items: &[String]) -> bool {
    let words = |item: &String| item.split_whitespace().count();
    let gerund = |item: &String| item.split_whitespace().next().is_some_and(|first| first.ends_with("ing"));
    let plural = |item: &String| item.ends_with('s');
    items.iter().all(|item| words(item) == 1)
        || items.iter().all(gerund)
        || items.iter().rev().skip(1).all(|item| plural(item) || words(item) > 1)
}

pub(super) fn zh_liked(text: &str) -> Vec<String> {
    let text = text.strip_prefix("的是").unwrap_or(text);
    if text.starts_with(['的', '上', '得', '过', '着', '了', '就', '不'])
        && !["上网", "上山", "上海"].iter().any(|word| text.starts_with(word))
    {
        return Vec::new();
    }
    let items: Vec<String> =
        parts(zh_bare(text)).iter().map(|part| zh_bare(part).to_owned()).filter(|part| !part.is_empty()).collect();
    let reject = |part: &str| {
        let unsure = "一个人|对方|别人说|某|有人|自己|大家|时候|上了|同学|老师说|死|极了|东西|感觉|事情|如此|得";
        part.chars().count() > 12
            || part.starts_with(['了', '的', '上', '过', '就', '被', '把'])
            || says_you(part)
            || unsure.split('|').any(|word| part == word || (word.chars().count() > 1 && part.contains(word)))
            || part.ends_with(['不', '没', '人'])
    };
    items.into_iter().take_while(|part| !reject(part)).collect()
}

pub(super) fn languages(text: &str) -> Vec<String> {
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

pub(super) fn owned(text: &str) -> Option<String> {
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

pub(super) fn doing(text: &str) -> Option<String> {
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
    (2..=9).contains(&words).then(|| one_line(&bare.replace(" my ", " their "))).filter(|_| !own)
}
