//! Questions that say too little to search with.

use memory_engine_core::{phrases::fold, text::is_han};

/// Whether a question names nothing that could be searched for: it only points ("那个事情后来怎么样？", "what happened then?"), so
/// that without the dialogue before it nobody knows what it is about.
///
/// Every word has to be one of those that point, ask or stand for anything. A name, a number, a thing, and any word that is
/// not known here make a question strong, as does text that is no word at all.
///
/// ```
/// use memory_engine_context::weak_question;
///
/// assert!(weak_question("你今天有什么不一样？") && weak_question("How did it go?"));
/// assert!(!weak_question("晚饭推荐什么？") && !weak_question("How did the interview go?"));
/// ```
pub fn weak_question(text: &str) -> bool {
    let folded = fold(text);
    let mut rest = folded.as_str();
    let mut words = 0;
    while let Some(c) = rest.chars().next() {
        let taken = if is_han(c) {
            let Some(word) = CHINESE.iter().filter(|word| rest.starts_with(**word)).max_by_key(|word| word.len())
            else {
                return false;
            };
            words += 1;
            word.len()
        } else if c.is_alphanumeric() {
            let end = rest.find(|c: char| is_han(c) || !(c.is_alphanumeric() || c == '\'' || c == '’'));
            let word = &rest[..end.unwrap_or(rest.len())];
            let plain = word.replace(['\'', '’'], "");
            if !ENGLISH.contains(&plain.as_str()) {
                return false;
            }
            words += 1;
            word.len()
        } else {
            c.len_utf8()
        };
        rest = &rest[taken..];
    }
    words > 0
}

/// Words that point, ask, or stand for anything; the longest that fits is taken.
#[rustfmt::skip]
const CHINESE: &[&str] = &[
    // Who
    "我", "你", "您", "他", "她", "它", "我们", "你们", "他们", "她们", "咱们", "咱", "自己", "大家", "谁", "人", "有人", "别人",
    // Which
    "这", "那", "哪", "这个", "那个", "哪个", "这些", "那些", "哪些", "这样", "那样", "这么", "那么", "这里", "那里", "哪里", "这儿", "那儿", "哪儿",
    "这边", "那边", "这次", "那次", "上次", "下次", "这事", "那事", "这件", "那件", "件", "个", "些", "次", "点", "一点", "有点", "一些", "一下",
    // Anything
    "事", "事情", "东西", "情况", "样子", "感觉", "变化", "问题", "原因", "结果", "时候", "地方", "话", "部分", "方面", "意思", "回事", "一回事",
    // When
    "今天", "昨天", "前天", "现在", "刚才", "刚刚", "后来", "之后", "以后", "然后", "之前", "以前", "最近", "当时", "那时", "那天", "这几天", "早上", "晚上",
    "曾经", "已经", "还", "又", "再", "刚", "才", "就", "都", "也", "一直",
    // Asking
    "什么", "怎么", "怎么样", "怎样", "咋", "咋样", "啥", "如何", "为什么", "为何", "为啥", "多少", "几", "什么样", "哪一个", "是不是", "有没有", "能不能",
    "会不会", "要不要", "对不对", "好不好", "行不行", "呢", "吗", "嘛", "吧", "啊", "呀", "哦", "啦", "了", "的", "得", "地", "着", "过", "么",
    // Doing
    "是", "有", "在", "做", "干", "干嘛", "干什么", "说", "讲", "聊", "谈", "问", "看", "想", "觉得", "认为", "知道", "记得", "记不记得", "还记得", "忘", "忘了",
    "发生", "变", "变成", "进展", "解决", "继续", "弄", "搞", "办", "处理", "去", "来", "到", "给", "让", "把", "被", "对", "跟", "和", "与", "从",
    "告诉", "提", "提到", "提过", "说过", "指", "算", "成", "会", "能", "要", "可以", "应该", "可能", "打算", "准备",
    // How
    "不", "没", "没有", "不一样", "一样", "不同", "特别", "好", "好了", "好点", "好些", "坏", "行", "对", "多", "很", "太", "更", "最", "真", "真的", "到底", "究竟", "其实", "还是", "或者", "如果", "但是",
];

/// The same in English, without apostrophes.
#[rustfmt::skip]
const ENGLISH: &[&str] = &[
    "i", "you", "he", "she", "it", "we", "they", "me", "him", "her", "us", "them", "my", "your", "his", "its", "our", "their", "mine", "yours", "someone",
    "anyone", "anybody", "somebody", "people", "guys",
    "this", "that", "these", "those", "here", "there", "one", "ones", "other", "others", "the", "a", "an", "some", "any", "all", "same", "such",
    "thing", "things", "stuff", "something", "anything", "everything", "nothing", "matter", "case", "way", "part", "point", "reason", "result", "situation",
    "today", "yesterday", "now", "then", "before", "after", "afterwards", "later", "earlier", "again", "still", "yet", "already", "lately", "recently",
    "time", "last", "next", "ever", "just", "far",
    "what", "which", "who", "whom", "whose", "when", "where", "why", "how", "whats", "whos", "hows", "wheres", "whys", "thats", "its", "theres", "hes", "shes",
    "is", "are", "was", "were", "be", "been", "am", "do", "does", "did", "done", "doing", "have", "has", "had", "having", "can", "could", "will", "would", "should",
    "may", "might", "must", "dont", "doesnt", "didnt", "isnt", "wasnt", "cant", "wont", "youre", "theyre", "ive", "youve",
    "go", "goes", "going", "gone", "went", "come", "came", "happen", "happens", "happened", "happening", "turn", "turned", "out", "end", "ended", "work", "worked",
    "say", "said", "says", "saying", "tell", "told", "talk", "talked", "talking", "mean", "meant", "means", "ask", "asked", "mention", "mentioned",
    "know", "knew", "remember", "recall", "forget", "forgot", "think", "thought", "feel", "felt", "feeling", "see", "saw", "look", "get", "got", "make", "made",
    "change", "changed", "continue", "about", "of", "to", "in", "on", "at", "for", "from", "with", "by", "up", "over", "as", "than", "so", "and", "or", "but",
    "if", "not", "no", "yes", "too", "also", "even", "really", "exactly", "more", "less", "much", "many", "else", "different", "differently", "new", "okay", "ok",
    "well", "better", "worse", "good", "bad", "right", "wrong", "like", "please",
];

#[cfg(test)]
mod tests;
