//! Whether a sentence says something of its speaker, and means it.

use std::{ops::Range, sync::LazyLock};

use memory_engine_core::text::{is_han, normalize};
use regex::Regex;

/// What stands in place of text that is not the speaker's own.
pub(crate) const MASK: char = '\u{1}';

/// The text with what the speaker does not say of themselves masked, byte for byte: longer quotations, stage directions
/// between stars or in Chinese brackets, quoted lines and code, and whatever is handed over to be rewritten or played.
pub(crate) fn masked(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut hide = |range: Range<usize>| bytes[range].fill(MASK as u8);
    for found in QUOTED.find_iter(text) {
        let inside = found.as_str();
        let words = inside.split_whitespace().count();
        let own = inside.chars().count() <= 14 && words <= 3 && !SELF.is_match(inside);
        if !own {
            hide(found.range());
        }
    }
    for found in STAGED.find_iter(text) {
        hide(found.range());
    }
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if trimmed.starts_with('>') || trimmed.starts_with('|') || trimmed.starts_with('#') {
            hide(at..at + line.trim_end().len());
        }
        at += line.len();
    }
    if let Some(order) = ORDER.find(text) {
        // What follows the first colon or line break behind the order is what it is about.
        let rest = &text[order.end()..];
        let end = rest.find(['\n', ':', '：']).map(|at| order.end() + at);
        if let Some(end) = end {
            hide(end..text.len());
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// A masked sentence, ready for patterns: traditional characters simplified, typographic apostrophes straight, and each
/// masked stretch one mask. The case of its letters stays.
pub(crate) fn readied(masked: &str) -> String {
    let mut plain = String::with_capacity(masked.len());
    for c in masked.chars() {
        match c {
            '’' | '‘' | '＇' => plain.push('\''),
            MASK if plain.ends_with(MASK) => {}
            '"' | '“' | '”' | '「' | '」' | '『' | '』' | '*' | '_' => {}
            '\u{ff01}'..='\u{ff5e}' if c.is_alphanumeric() => plain.push_str(&normalize(&c.to_string())),
            _ => plain.push(c),
        }
    }
    let folded = if plain.is_ascii() { return plain } else { normalize(&plain) };
    if folded.chars().count() != plain.chars().count() {
        return plain;
    }
    plain.chars().zip(folded.chars()).map(|(given, folded)| if is_han(given) { folded } else { given }).collect()
}

/// Whether a sentence may tell facts at all: not when it supposes, quotes or plays.
pub(crate) fn is_serious(sentence: &str) -> bool {
    !(UNREAL.is_match(sentence)
        || sentence.starts_with("```")
        || LABEL.captures(sentence).is_some_and(|label| !OWN_LABEL.is_match(&label[1])))
}

/// Whether what stands before a match lets it be the speaker's own statement, and what stands behind it keeps it one.
pub(crate) fn is_stated(sentence: &str, found: Range<usize>) -> bool {
    let (before, after) = (&sentence[..found.start], &sentence[found.end..]);
    let clause = before.rfind(is_clause_end).map_or(before, |at| {
        let c = before[at..].chars().next().map_or(1, char::len_utf8);
        &before[at + c..]
    });
    if REPORTED.is_match(before) || TAIL.is_match(after) {
        return false;
    }
    let asked = sentence.trim_end().ends_with(['?', '？']) || ASKED.is_match(sentence);
    // A statement may be followed by a question: "I'm vegetarian, what can I cook?"
    if asked && !(after.trim_start().starts_with(['，', ',', '、', '-', '—', ';']) || AND_ASK.is_match(after)) {
        return false;
    }
    let clause = clause.trim();
    let english = clause.is_empty() || LEAD.is_match(clause) || FACTIVE.is_match(clause);
    let han = clause.chars().any(is_han);
    if han { ZH_LEAD.is_match(clause) } else { english }
}

fn is_clause_end(c: char) -> bool {
    matches!(
        c,
        ',' | '，'
            | ';'
            | '；'
            | ':'
            | '：'
            | '—'
            | '–'
            | '('
            | '（'
            | ')'
            | '）'
            | '、'
            | '~'
            | '～'
            | '!'
            | '！'
            | '.'
            | '。'
            | '\u{1}'
            | '…'
            | '/'
    ) || c == '\n'
}

macro_rules! regex {
    ($name:ident, $text:expr) => {
        // A test compiles them all; one that could not be would match nothing.
        static $name: LazyLock<Lazy> =
            LazyLock::new(|| Lazy(Regex::new(&format!("(?i){}", $text).replace("\\b", "(?-u:\\b)")).ok()));
    };
}

struct Lazy(Option<Regex>);

impl Lazy {
    fn is_match(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(text))
    }
    fn find<'t>(&self, text: &'t str) -> Option<regex::Match<'t>> {
        self.0.as_ref()?.find(text)
    }
    fn find_iter<'t>(&self, text: &'t str) -> Vec<regex::Match<'t>> {
        self.0.as_ref().map(|regex| regex.find_iter(text).collect()).unwrap_or_default()
    }
    fn captures<'t>(&self, text: &'t str) -> Option<regex::Captures<'t>> {
        self.0.as_ref()?.captures(text)
    }
}

regex!(QUOTED, r#""[^"\n]{1,400}"|“[^”]{1,400}”|「[^」]{1,400}」|『[^』]{1,400}』"#);
regex!(SELF, r"\b(?:i|i'm|my|me)\b|我");
regex!(STAGED, r"(?:^|[^*])\*[^*\n]{2,300}\*(?:$|[^*])|（[^）\n]{1,200}）|```[\s\S]*?```");
regex!(
    ORDER,
    r"\b(?:act as|pretend|role-?play|imagine you|write (?:me )?(?:an?|the|my) (?:\w+ ){0,4}(?:story|poem|essay|letter|e-?mail|speech|dialogue|cover letter|script|song|bio|post|review|message|paragraph|monologue)|translate|rewrite|proofread|paraphrase|rephrase|summari[sz]e|(?:correct|fix|improve|edit|revise|polish) (?:this|the|my|these|following)|grammar)\b|改写|翻译|润色|写[一个篇首封段份]{1,2}|扮演|假装|造句|续写|校对|总结一下|仿写|模仿"
);
regex!(
    UNREAL,
    r"\b(?:imagine|suppose|supposing|pretend|what if|as if|as though|wish|wished|would be|could be|might be|dreamed|dreamt|hypothetically|let's say|in the story|my character|in character|used to think|kidding|jk|lyrics?)\b|梦到|梦见|梦里|想象|扮演|要不是|开玩笑|假的|骗你|歌词|台词|小说里|剧本里|书里|电影里|剧里"
);
regex!(
    REPORTED,
    r"\b(?:if|unless|whether)\b|如果|要是|假如|假设|倘若|万一|的话|\b(?:he|she|they|people|someone|somebody|everyone|who|you|[a-z]+ (?:says?|said|thinks?|claims?|asked|told)) (?:says?|said|thinks?|thought|claims?|asked|told|believes?|assumed?)\b|(?:他|她|他们|她们|别人|人家|大家|有人|朋友|妈妈|爸爸|老师|老板|同事|同学|你)(?:们)?(?:都|总|老|常)?(?:说|问|觉得|以为|认为|猜|怀疑|骂)|以为|听说|据说|问我|说我"
);
regex!(
    TAIL,
    r"^\s*(?:[,，]? ?(?:or not|jk|just kidding|not really|i think not)|的时候|那年|时候|时[，,]|生日|以前|之前|吗|么|是吗|没有[？?]|不\?|不？|(?:,|，)?(?:对吧|是吧|对不对|是不是|骗你的|开玩笑))"
);
regex!(
    ASKED,
    r"(?:吗|么)[。.!！~]*$|^(?:do|does|did|am|is|are|can|could|should|would|will|have|what|why|how|when|where|who|which)\b(?:[^,]*)$|是不是|有没有|会不会|能不能|要不要|该不该|什么时候|为什么|怎么办"
);
regex!(AND_ASK, r"^\s*(?:and|so|but|what|which|can|could|any|do|because)\b");
regex!(LABEL, r"^\s*([\p{L}\p{N} ]{1,24})[:：]");
regex!(
    OWN_LABEL,
    r"^(?:.*\b(?:note|fyi|ps|p s|me|my|i|edit|update|btw|reminder|context|background|info|answer|intro|hi|hello|remember|also|so|well|thing is|fact)\b.*|.*(?:我|备注|补充|另外|注意|提醒|介绍|背景|更新|说明|情况|告诉你|记住|其实|对了|你好|信息).*)$"
);
regex!(
    LEAD,
    r"^(?:(?:well|yeah|yes|yep|yup|no|nope|nah|oh|hi|hey|hello|hiya|so|and|but|also|actually|btw|by the way|plus|because|cause|cuz|since|as|fyi|honestly|ok|okay|thanks|thank you|sorry|ah|aww?|haha|hahaha|lol|wow|still|now|today|tonight|these days|nowadays|lately|recently|currently|though|although|however|anyway|anyways|unfortunately|fortunately|luckily|personally|you know|remember|remember that|i mean|like i said|as you know|see|the thing is|just so you know|just fyi|note that|please note|please note that|please remember|please remember that|keep in mind|keep in mind that|in fact|to be honest|tbh|truth is|the truth is|in general|generally|usually|overall|in my free time|in my spare time|outside of work|for me|besides|additionally|moreover|furthermore|first|first of all|for one thing|sure|true|same|me too|great|cool|nice|nice to meet you|good morning|good evening|guess what|good news|big news|news flash|turns out|sadly|happily|hmm|um|uh|oh yeah|oh no|ya|yea|totally|right|exactly|absolutely|definitely|indeed|of course|while|even though|given that|considering|especially since|at the moment|right now|this year|this month|this week|last (?:year|month|week|summer|night|spring|fall|winter)|yesterday|in \d{4}|(?:a |two |three |few |\d+ )*(?:years?|months?|weeks?|days?) ago|since then|after that|then|just|please|hello there|as for me|growing up|did you know|fun fact|random fact|for context|for background|please|dear diary|update|ever since|at home|back home|tomorrow|my friend|buddy|man|dude|bro|girl) ?)+$"
);
regex!(
    FACTIVE,
    r"\b(?:remember|forget|know|knew|mention(?:ed)?|found out|find out|realized|realised|confirmed|reminder|note|discovered|learned|aware|fact is|mean is|news is|turns out|tell you|told you|glad|happy|proud|sad|say|admit|confess|thing is|because|since|so|that's why|but|and|plus|also)(?: that)?$|\b(?:doctor|dr\.? \w+|allergist|doc|tests?|results?|nurse|dentist)\b.*\b(?:said|told me|says|showed|confirmed)(?: that)?$"
);
regex!(
    ZH_LEAD,
    r"^(?:其实|另外|还有|对了|因为|不过|但是|但|而且|并且|所以|由于|顺便说一下|顺便|顺便一提|你好|您好|大家好|嗨|嗯+|是的|对|对啊|对呀|没错|哈+|说实话|老实说|讲真|说真的|坦白说|记住|请记住|要记住|请记得|记得|别忘了|不要忘了|你知道|你知道的|你也知道|告诉你|跟你说|跟你说过|和你说|和你说过|我跟你说|我告诉你|我说过|我跟你说过|医生说|大夫说|检查发现|其实呢|原来|现在|目前|今年|去年|前年|上个?月|上周|最近|从小|忘了说|忘了告诉你|虽然|毕竟|自从|平时|平常|周末|今天|昨天|昨晚|前天|刚才|刚刚|终于|没想到|哦+|噢|啊+|哎+|唉+|诶|欸|呃+|那个|那|那么|话说|可是|可|只是|就是|因此|于是|后来|然后|再说|反正|总之|确实|真的|不瞒你说|悄悄告诉你|偷偷告诉你|补充一下|更新一下|纠正一下|更正一下|更正|纠正|好吧|好的|好|行|抱歉|不好意思|谢谢|哇|呀|嘿|喂|hi|hello|hey|ok|ps|btw|请注意|注意|毕业后|毕业之后|结婚后|这几年|这些年|近几年|近来|这段时间|小时候起|[一二三四五六七八九十\d]+(?:年|个月|天|周)前|\d{4}年|\d+月|[的了吧呢啊呀哦嘛哈，。\s])+$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles() {
        for regex in [
            &*QUOTED, &SELF, &STAGED, &ORDER, &UNREAL, &REPORTED, &TAIL, &ASKED, &AND_ASK, &LABEL, &OWN_LABEL, &LEAD,
            &FACTIVE, &ZH_LEAD,
        ] {
            assert!(regex.0.is_some());
        }
    }

    #[test]
    fn masking_keeps_every_byte_in_its_place() {
        for text in
            ["他说“我对花生过敏”，笑了", "*I am a pirate* hello", "> quoted\nmine", "translate: I am Sam", "plain"]
        {
            assert_eq!(masked(text).len(), text.len());
        }
        assert!(!masked("他说“我对花生过敏”").contains("花生"));
        assert!(masked("叫我“小雨”").contains("小雨"));
        assert!(masked("**I** love tea").contains("love tea"));
    }

    #[test]
    fn scripts_are_folded_and_case_is_kept() {
        assert_eq!(readied("我對「Sam」過敏，I’m"), "我对Sam过敏，I'm");
    }
}
