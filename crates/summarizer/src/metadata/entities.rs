//! Names in a text, by how they are written and by what stands around them.

use std::sync::LazyLock;

use memory_engine_core::{
    phrases::stands_alone,
    text::{is_han, normalize},
};
use regex::Regex;

use super::MOST_ENTITIES;
use crate::{sentences, terms::is_stop};

/// Chinese names: titles of works, people by how they are addressed, and places and institutions by what they end with.
const CHINESE: &str = concat!(
    "《(?P<title>[^》]{1,30})》",
    "|(?:叫做?|名叫|是叫|名字是)(?P<called>[王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文]\\p{Han}{1,2})(?:$|[^\\p{Han}]|的|了|是|，)",
    "|(?P<person>[小老阿][王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯董程曹袁邓许沈曾彭吕苏卢蒋蔡贾丁魏薛叶余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊陆孔崔康毛邱秦顾侯邵孟龙段雷钱汤尹黎易乔贺龚明红雨美丽芳强伟军])",
    "|(?P<titled>[王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯董程曹袁邓许沈曾彭吕苏卢蒋蔡贾丁魏薛叶余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊陆孔崔康毛邱秦顾侯邵孟龙段雷钱汤尹黎易乔贺龚](?:先生|女士|老师|医生|经理|主任|教授|律师|师傅|阿姨|叔叔|总监|护士|警官|同学|小姐))",
    "|(?P<place>(?:北京|上海|天津|重庆|广州|深圳|东莞|佛山|珠海|杭州|宁波|温州|绍兴|南京|苏州|无锡|常州|徐州|扬州|福州|厦门|泉州|济南|青岛|烟台|威海|石家庄|郑州|洛阳|武汉|长沙|成都|西安|太原|沈阳|大连|长春|哈尔滨|合肥|南昌|南宁|桂林|贵阳|昆明|大理|丽江|海口|三亚|兰州|西宁|银川|乌鲁木齐|拉萨|呼和浩特|香港|澳门|台湾|台北|高雄|美国|英国|法国|德国|日本|东京|大阪|京都|韩国|首尔|新加坡|马来西亚|泰国|曼谷|越南|印度|俄罗斯|加拿大|多伦多|温哥华|澳大利亚|悉尼|墨尔本|新西兰|意大利|西班牙|葡萄牙|荷兰|瑞士|瑞典|挪威|纽约|伦敦|巴黎|柏林|洛杉矶|旧金山|广东|浙江|江苏|福建|山东|河北|河南|湖北|湖南|四川|陕西|山西|辽宁|吉林|黑龙江|安徽|江西|广西|贵州|云南|海南|甘肃|青海|宁夏|新疆|西藏|内蒙古)(?:省|市)?)",
);
/// What an institution or a place is called by at its end.
static ENDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new("(?:有限公司|集团|大学|学院|医院|银行|中学|小学|高中|火车站|高铁站|机场|车站|地铁站|公园|广场|餐厅|咖啡馆|咖啡厅|书店|图书馆|博物馆|美术馆|体育馆|健身房|酒店|商场|小区|花园|大厦|海底捞|星巴克|麦当劳|肯德基)").ok()
});
static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(CHINESE).ok());

/// Words with a capital that name nothing.
const CAPITALS: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "btw",
    "bye",
    "omg",
    "ok",
    "lol",
    "tbh",
    "idk",
    "fyi",
    "asap",
    "wow",
    "yay",
    "haha",
    "english",
    "god",
    "mom",
    "dad",
    "mum",
    "user",
    "assistant",
    "hope",
    "congrats",
    "congratulations",
    "thx",
    "np",
    "imo",
    "img",
    "aww",
    "woah",
    "whoa",
    "ugh",
    "hmm",
    "hahaha",
    "image",
    "url",
    "http",
    "https",
    "tv",
    "am",
    "pm",
    "ps",
    "faq",
    "step",
    "note",
    "example",
    "here's",
    "let",
    "key",
    "additionally",
    "however",
    "yes",
    "overall",
    "finally",
    "remember",
    "make",
    "speaking",
    "sounds",
    "looking",
    "seeing",
    "check",
    "keep",
    "take",
    "enjoy",
    "reading",
    "writing",
];

/// The names in a text, each once, in their order.
pub(super) fn entities(text: &str, known: &[String]) -> Vec<String> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let folded = normalize(text);
    for name in known {
        let wanted = normalize(name);
        let at =
            folded.match_indices(&wanted).map(|(at, _)| at).find(|at| stands_alone(&folded, *at, at + wanted.len()));
        // A place in the folded text is near enough for the order.
        found.extend(at.map(|at| (at, name.clone())));
    }
    chinese(text, &mut found);
    western(text, &mut found);
    found.sort_by_key(|(at, name)| (*at, std::cmp::Reverse(name.len())));
    let mut names: Vec<String> = Vec::new();
    for (_, name) in found {
        if !names
            .iter()
            .any(|known| normalize(known) == normalize(&name) || normalize(known).contains(&normalize(&name)))
        {
            names.push(name);
        }
    }
    names.truncate(MOST_ENTITIES);
    names
}

fn chinese(text: &str, found: &mut Vec<(usize, String)>) {
    if !text.chars().any(is_han) {
        return;
    }
    for named in NAMES.iter().flat_map(|names| names.captures_iter(text)) {
        let groups = ["title", "called", "person", "titled", "place"];
        found.extend(
            groups.iter().filter_map(|group| named.name(group)).map(|name| (name.start(), name.as_str().to_owned())),
        );
    }
    for end in ENDS.iter().flat_map(|ends| ends.find_iter(text)) {
        let before = &text[..end.start()];
        // The name begins behind the last word that is no part of one.
        let mut start = end.start();
        for (at, c) in before.char_indices().rev().take(8) {
            let inside = c == '和' && before[..at].ends_with('协');
            if !inside && (!is_han(c) || "的在去到了和跟与我你他她是从把被这那个家所座有们吗呢吧想要会来回过找给开逛让对叫进往离就都也还很不没又再及或由向".contains(c)) {
                break;
            }
            start = at;
        }
        let stands =
            before[start..].chars().count() > 0 || ["海底捞", "星巴克", "麦当劳", "肯德基"].contains(&end.as_str());
        if stands {
            found.push((start, text[start..end.end()].to_owned()));
        }
    }
}

/// Words with a capital, in runs; the first word of a sentence only where it is no common one.
fn western(text: &str, found: &mut Vec<(usize, String)>) {
    for range in sentences(text) {
        if text[range.clone()].starts_with("```") {
            continue;
        }
        let sentence = &text[range.clone()];
        let shouted = sentence.chars().filter(|c| c.is_lowercase()).count()
            < sentence.chars().filter(|c| c.is_uppercase()).count();
        let mut run: Option<(usize, usize)> = None;
        let mut first = true;
        let mut close = |run: &mut Option<(usize, usize)>| {
            if let Some((start, end)) = run.take() {
                found.push((range.start + start, sentence[start..end].to_owned()));
            }
        };
        let mut at = 0;
        while at < sentence.len() {
            let rest = &sentence[at..];
            let Some(c) = rest.chars().next() else { break };
            let letter = |c: char| c.is_alphanumeric() && !is_han(c);
            if !letter(c) {
                if !matches!(c, ' ' | '&' | '-') {
                    close(&mut run);
                }
                at += c.len_utf8();
                continue;
            }
            let end =
                at + rest.find(|c: char| !letter(c) && !matches!(c, '\'' | '’' | '-' | '.')).unwrap_or(rest.len());
            let word = sentence[at..end].trim_end_matches(['.', '\'', '’', '-']);
            let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
            let lower = word.to_lowercase().replace('’', "'");
            let capital = word.chars().next().is_some_and(char::is_uppercase) && word.chars().any(char::is_alphabetic);
            let plain = is_stop(&lower) || CAPITALS.contains(&lower.as_str()) || lower.contains('\'');
            // Behind a capital comes more of the name, or the name is by itself.
            let next = sentence[end..].trim_start().chars().next().is_some_and(char::is_uppercase);
            let opens =
                first && !next && !sentence.chars().any(is_han) && sentence[end..].chars().any(char::is_alphabetic);
            let owns = sentence[at..end].ends_with("'s") || sentence[at..end].ends_with("’s");
            let common = opens && !owns && lower.chars().count() > 1 && !sentence[end..].starts_with(',');
            if capital && !plain && !common && !shouted {
                run = Some((run.map_or(at, |(start, _)| start), at + word.len()));
            } else {
                close(&mut run);
            }
            first = false;
            at = end;
        }
        close(&mut run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        entities(text, &[])
    }

    #[test]
    fn names_are_found_in_both_languages() {
        for (text, names) in [
            ("We met Anna Smith at Central Park on Monday", vec!["Anna Smith", "Central Park"]),
            ("I love my dog Rex. Nice!", vec!["Rex"]),
            ("我和小王在上海看了《三体》", vec!["小王", "上海", "三体"]),
            ("李医生让我去协和医院复查", vec!["李医生", "协和医院"]),
            ("我用iPhone给Krueger发消息", vec!["Krueger"]),
            ("The weather is nice today.", vec![]),
            ("我今天在公园跑步", vec![]),
            ("Melanie's kids love the Grand Canyon", vec!["Melanie", "Grand Canyon"]),
        ] {
            assert_eq!(found(text), names, "{text}");
        }
    }

    #[test]
    fn known_names_are_found_however_they_are_written() {
        let known = ["奇美拉".to_owned(), "KSK".to_owned()];
        assert_eq!(entities("ｋｓｋ和奇美拉", &known), ["KSK", "奇美拉"]);
        assert!(entities("asksk", &known).is_empty());
    }
}
