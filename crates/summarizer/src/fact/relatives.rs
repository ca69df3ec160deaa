//! Statements about the speaker's relatives.

use std::sync::LazyLock;

use regex::Regex;

static CHINESE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new("^(?:其实|另外|还有|对了|嗯|哦|不过|而且|最近|现在|，|,|下)*我(?:们家|家)?的?(?P<kin>姐姐|妹妹|哥哥|弟弟|妈妈|爸爸|母亲|父亲|老妈|老爸|儿子|女儿|老公|老婆|丈夫|妻子|男朋友|女朋友|男友|女友|奶奶|爷爷|外婆|外公|姥姥|姥爷|阿姨|姑姑|姨妈|舅舅|舅妈|叔叔|婶婶|伯伯|表哥|表弟|表姐|表妹|堂哥|堂弟|堂姐|堂妹|侄子|侄女|外甥|室友|闺蜜|同事|上司|下属|老板|同学)(?:他们?|她们?|呢|啊|这个人|，|,)*(?P<rest>[^，。,]+)").ok()
});
/// What a statement about a relative does not begin with: what they say, do to others, or do together with others.
static CHINESE_NOT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new("^(?:说|问|觉得|让|叫|送|给|们|和|跟|与|以为|认为|告诉|希望|想|要|会|把|被|不让|总|家|带|陪|帮|那|这)|^的[^生工职年爱兴老家专母]|[我你您]|吗").ok()
});
static ENGLISH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new("(?i)^(?:(?:also|so|and|but|well|oh|yeah|btw|by the way|actually),? )*(?:my) (?:(?:older|younger|elder|big|little|baby|twin|best) )*(?P<kin>sister|brother|mother|mom|mum|father|dad|son|daughter|wife|husband|boyfriend|girlfriend|partner|fianc[eé]e?|spouse|grandmother|grandma|grandfather|grandpa|aunt|uncle|cousin|nephew|niece|roommate|boss|best friend)(?:,? (?-i:\\p{Lu}\\p{Ll}+),?)?(?P<adverb>(?: (?:also|really|just|recently|currently|absolutely|actually|still|always))*)(?P<verb>'s| is| has| lives| works| loves| likes| hates| enjoys| speaks| plays| studies| doesn't| does not| can't| moved| quit)(?P<rest> [^\\n]+)").ok()
});
static ENGLISH_NOT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:i|i'm|my|me|you|your|we|us)\b|\?").ok());

/// A sentence about a relative of the speaker as that relative would say it of themselves, with the relative's name of
/// kinship; nothing when it is about nobody's, or about somebody else as well.
pub(super) fn turned(sentence: &str) -> Option<(String, String)> {
    if let Some(found) = CHINESE.as_ref()?.captures(sentence) {
        let rest = found.name("rest")?.as_str().trim();
        let whole = sentence.trim_end();
        let apart = CHINESE_NOT.as_ref()?.is_match(rest) || whole.ends_with(['?', '？']);
        return (!apart && !rest.is_empty()).then(|| (one_name(&found["kin"]).to_owned(), format!("我{rest}")));
    }
    let found = ENGLISH.as_ref()?.captures(sentence)?;
    if ENGLISH_NOT.as_ref()?.is_match(&found["rest"]) {
        return None;
    }
    let (adverb, rest) = (&found["adverb"], &found["rest"]);
    let verb = found["verb"].trim().to_lowercase();
    let own = match verb.as_str() {
        "'s" | "is" => return Some((one_name(&found["kin"].to_lowercase()).to_owned(), format!("I'm{adverb}{rest}"))),
        "has" => "have",
        "doesn't" | "does not" => "don't",
        "studies" => "study",
        "can't" | "moved" | "quit" => verb.as_str(),
        other => other.strip_suffix('s').unwrap_or(other),
    };
    Some((one_name(&found["kin"].to_lowercase()).to_owned(), format!("I{adverb} {own}{rest}")))
}

/// One name for each relative, and for each animal.
pub(super) fn one_name(word: &str) -> &str {
    match word {
        "mom" | "mum" => "mother",
        "dad" => "father",
        "grandma" => "grandmother",
        "grandpa" => "grandfather",
        "puppy" => "dog",
        "kitten" => "cat",
        "flatmate" => "roommate",
        "母亲" | "老妈" => "妈妈",
        "父亲" | "老爸" => "爸爸",
        "丈夫" => "老公",
        "妻子" => "老婆",
        "男友" => "男朋友",
        "女友" => "女朋友",
        "狗狗" | "小狗" => "狗",
        "猫咪" | "小猫" => "猫",
        other => other,
    }
}

/// Whether one has at most one of them.
pub(super) fn is_only_one(kin: &str) -> bool {
    let one = [
        "mother",
        "father",
        "wife",
        "husband",
        "spouse",
        "partner",
        "boyfriend",
        "girlfriend",
        "妈妈",
        "爸爸",
        "老公",
        "老婆",
        "男朋友",
        "女朋友",
    ];
    one.contains(&kin) || kin.starts_with("fianc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relatives_statement_is_turned_into_their_own() {
        for (sentence, kin, own) in [
            ("我表姐她在北京上班呢", "表姐", "我在北京上班呢"),
            ("我的舅妈平时喜欢编程", "舅妈", "我平时喜欢编程"),
            ("My sister Anna is allergic to cats.", "sister", "I'm allergic to cats."),
            ("my dad really loves fishing", "father", "I really love fishing"),
            ("My mom doesn't like sushi", "mother", "I don't like sushi"),
        ] {
            assert_eq!(turned(sentence), Some((kin.to_owned(), own.to_owned())), "{sentence}");
        }
        for sentence in [
            "我妈妈说我对花生过敏",
            "我和姐姐喜欢爬山",
            "My sister and I love hiking",
            "My mom says I'm lazy",
            "我爸爸喜欢吃鱼吗",
            "我姐姐和我住",
        ] {
            assert_eq!(turned(sentence), None, "{sentence}");
        }
    }
}
