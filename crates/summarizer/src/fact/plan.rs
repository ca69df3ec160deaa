//! Appointments, with their dates.

use std::{ops::Range, sync::LazyLock};

use jiff::{ToSpan, civil::Date, tz::TimeZone};
use memory_engine_core::Timestamp;
use memory_engine_temporal::{Exactness, windows};
use regex::Regex;

use crate::{Language, fact::guard};

/// Something that is planned, or no longer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) event: String,
    /// When; nothing where it was called off.
    pub(super) when: Option<When>,
    /// Whether what was known of it before holds no more.
    pub(super) changed: bool,
    pub(super) language: Language,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct When {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    pub(super) label: String,
}

const ZH_EVENTS: &str = "面试|笔试|期末考试?|期中考试?|高考|中考|考研|考试|体检|复查|复诊|手术|婚礼|答辩|出差|搬家|开会|航班|约会|同学聚会|聚会|演讲|演出|比赛|毕业典礼|入职|报到|看牙|看医生|旅行|旅游|年会|培训|团建|拔牙|产检|面签|马拉松|路演|开学|科目[一二三四]|演唱会|相亲|结婚|去医院|生日会|汇报|回国|出国|回老家";
const EVENTS: &str = "(?:job |final |phone |second |first |math |driving |bar |doctor's |doctor |dentist |dental |birthday |wedding |half |business |team |client |piano |medical |annual |big )*(?:interview|exam|test|midterm|finals|appointment|meeting|surgery|operation|flight|wedding|presentation|deadline|trip|vacation|check-?up|date|party|concert|marathon|race|graduation|conference|competition|recital|audition|tournament|reunion|baby shower|hackathon)";

static ZH_PLAN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!("^(?:我|要|有|得|去|会|早上|上午|中午|下午|晚上|早晨|[\\d一二三四五六七八九十]+点半?|的|还|就|准备|打算|一个|个|一场|场|又|有个|必须|需要|安排了|约了|参加|公司|学校|第一轮|二面|一面|终面|在\\p{{Han}}{{1,6}}|跟朋友|和朋友)*(?P<event>{ZH_EVENTS})(?:$|[，。！!,.；;呢啊呀哦了啦～~…（(]|，)")).ok()
});
static ZH_MOVED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!("(?P<event>{ZH_EVENTS})(?:时间)?(?:被|又|已经|临时)?(?:改到|改成|改为|推迟到|延期到|延到|提前到|挪到|推到|改期到|调到|换到)了?$")).ok()
});
static ZH_OFF: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!("(?P<event>{ZH_EVENTS})(?:被|已经|临时|又)?(?:取消|泡汤|黄)了")).ok());
static PLAN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!("(?i)\\b(?:i(?:'ve| have)(?: got)?|i'm having|i am having|i got|i also have|i'll have|i will have|i(?:'m| am) going (?:to|on)|there's|we have|we've got|i(?:'m| am) (?:taking|attending|running)|i(?:'ve| have) scheduled|i scheduled|i booked) (?:an?|my|the|our|another) (?P<event>(?:\\w+ ){{0,2}}?{EVENTS})\\b")).ok()
});
static MINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!("(?i)\\bmy (?P<event>(?:\\w+ ){{0,2}}?{EVENTS})(?: is|'s)(?: coming up| scheduled| set| booked)*(?: on| for| at)? ?$")).ok()
});
static MOVED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!("(?i)\\b(?:my|the) (?P<event>(?:\\w+ ){{0,2}}?{EVENTS})(?: has been| was| got| is| had to be|'s been| has)? (?:moved|rescheduled|postponed|pushed(?: back)?|brought forward|changed|delayed)(?: up)? (?:to|until|till) ?$")).ok()
});
static OFF: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(
        "(?i)\\bmy (?P<event>(?:\\w+ ){{0,2}}?{EVENTS})(?: has been| was| got| is|'s been)? (?:cancell?ed|called off)"
    ))
    .ok()
});
static ZH_WEEKDAY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("(?P<lead>.?)(?:周|星期|礼拜)(?P<day>[一二三四五六日天])").ok());
static WEEKDAY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?P<lead>\w+ )?(?:on |this |coming )?\b(?P<day>monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b").ok()
});

/// The appointments that a readied sentence of the speaker tells of.
pub(super) fn plans(sentence: &str, said: Timestamp, zone: &TimeZone) -> Vec<Plan> {
    let mut found = Vec::new();
    for (pattern, language) in [(&ZH_OFF, Language::Chinese), (&OFF, Language::English)] {
        let stated =
            |(_, range): &(String, Range<usize>)| guard::is_stated(sentence, subject(sentence, range)..range.end);
        if let Some((event, _)) = event(pattern, sentence).filter(stated) {
            found.push(Plan { event, when: None, changed: true, language });
        }
    }
    for (range, when) in dates(sentence, said, zone) {
        let (before, after) = (&sentence[..range.start], &sentence[range.end..]);
        let plan = |event: String, changed, language| Plan { event, when: Some(when.clone()), changed, language };
        let own = |start: usize| guard::is_stated(sentence, start..range.end);
        if let Some((event, at)) = event(&ZH_MOVED, before).filter(|(_, at)| own(subject(sentence, at))) {
            let _ = at;
            found.push(plan(event, true, Language::Chinese));
        } else if let Some((event, at)) = event(&ZH_PLAN, after) {
            // The speaker may stand before the date, and nobody else.
            let start = if before.ends_with('我') { range.start - "我".len() } else { range.start };
            if guard::is_stated(sentence, start..range.end + at.end) && !after[..at.end].contains("不") {
                found.push(plan(event, false, Language::Chinese));
            }
        } else if let Some((event, _)) = event(&MOVED, before).filter(|(_, at)| own(at.start)) {
            found.push(plan(event, true, Language::English));
        } else if let Some((event, _)) = event(&MINE, before).filter(|(_, at)| own(at.start)) {
            found.push(plan(event, false, Language::English));
        } else if let Some((event, at)) = event(&PLAN, before).filter(|(_, at)| own(at.start)) {
            // Between the event and its date there may be little: "an interview at Acme on Friday".
            if before[at.end..].split_whitespace().count() <= 6 && !before[at.end..].contains([',', ';']) {
                found.push(plan(event, false, Language::English));
            }
        } else if let Some((event, at)) = event(&PLAN, after) {
            // "Tomorrow I have an exam."
            let led = before.trim().is_empty()
                || before.trim_end().ends_with(',')
                || matches!(before.trim().to_lowercase().as_str(), "on" | "and" | "so");
            if led
                && after[..at.start].trim_matches([' ', ',']).is_empty()
                && guard::is_stated(sentence, range.end + at.start..range.end + at.end)
            {
                found.push(plan(event, false, Language::English));
            }
        }
    }
    found.dedup();
    found
}

/// Where a Chinese statement about an event begins: with `我的` before it, or with the event.
fn subject(sentence: &str, event: &Range<usize>) -> usize {
    let before = &sentence[..event.start];
    ["我的", "我那个", "我", "原定的", "那个", "这个"]
        .iter()
        .find(|lead| before.ends_with(*lead))
        .map_or(event.start, |lead| event.start - lead.len())
}

fn event(pattern: &LazyLock<Option<Regex>>, text: &str) -> Option<(String, Range<usize>)> {
    let found = pattern.as_ref()?.captures(text)?;
    let event = found.name("event")?.as_str().to_lowercase();
    let event = event.strip_prefix("new ").unwrap_or(&event).to_owned();
    Some((event, found.get(0)?.range()))
}

/// The dates to come that a sentence names, each with its place.
fn dates(sentence: &str, said: Timestamp, zone: &TimeZone) -> Vec<(Range<usize>, When)> {
    let today = said.in_zone(zone).date();
    let mut found: Vec<(Range<usize>, When)> = Vec::new();
    for window in windows(sentence, said, zone) {
        if window.exactness == Exactness::Rough {
            continue;
        }
        let first = window.from.in_zone(zone).date();
        let last = window.until.in_zone(zone).date();
        // A day without its year is read as the latest that has been; a plan is for the next.
        let ahead = if window.relative
            && last <= today
            && first.checked_add(1.year()).is_ok_and(|next| next >= today)
            && sentence[window.range.clone()].contains(|c: char| c.is_ascii_digit() || "月号日".contains(c))
        {
            first.checked_add(1.year()).ok().zip(last.checked_add(1.year()).ok())
        } else {
            Some((first, last))
        };
        let Some((first, last)) = ahead.filter(|(_, last)| *last > today) else { continue };
        if let Some(when) = when(first, last, zone) {
            found.push((window.range.clone(), when));
        }
    }
    for (range, day) in weekdays(sentence) {
        let taken = found.iter().any(|(known, _)| known.start < range.end && range.start < known.end);
        let ahead = (i64::from(day) - i64::from(today.weekday().to_monday_zero_offset())).rem_euclid(7);
        let first = today.checked_add(ahead.days()).ok();
        let next = first.and_then(|first| first.tomorrow().ok());
        if let (false, Some((first, next))) = (taken, first.zip(next)) {
            found.extend(when(first, next, zone).map(|when| (range, when)));
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    found
}

/// Weekdays by themselves, which a plan means the next of: 0 is Monday.
fn weekdays(sentence: &str) -> Vec<(Range<usize>, i8)> {
    let mut found = Vec::new();
    for named in ZH_WEEKDAY.iter().flat_map(|regex| regex.captures_iter(sentence)) {
        let (lead, day) = (&named["lead"], &named["day"]);
        let place =
            "一二三四五六日".find(if day == "天" { "日" } else { day }).and_then(|at| i8::try_from(at / 3).ok());
        if let (Some(whole), Some(day), false) = (named.get(0), place, ["上", "每", "个", "下"].contains(&lead)) {
            let start = whole.start() + if lead == "这" || lead == "本" { 0 } else { lead.len() };
            found.push((start..whole.end(), day));
        }
    }
    for named in WEEKDAY.iter().flat_map(|regex| regex.captures_iter(sentence)) {
        let lead = named.name("lead").map_or(String::new(), |lead| lead.as_str().trim().to_lowercase());
        let day = named["day"].to_lowercase();
        let place = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
            .iter()
            .position(|known| *known == day);
        let past = matches!(lead.as_str(), "last" | "next" | "every" | "each" | "past" | "previous");
        if let (Some(whole), Some(day), false) = (named.get(0), place.and_then(|day| i8::try_from(day).ok()), past) {
            let start = if matches!(lead.as_str(), "on" | "this" | "coming" | "for") {
                whole.start()
            } else {
                named.name("day").map_or(whole.start(), |day| day.start())
            };
            found.push((start..whole.end(), day));
        }
    }
    found
}

fn when(first: Date, next: Date, zone: &TimeZone) -> Option<When> {
    let moment = |date: Date| Timestamp::parse_in(&date.to_string(), zone).ok();
    let last = next.yesterday().ok()?;
    let label = if last <= first { first.to_string() } else { format!("{first}/{last}") };
    Some(When { from: moment(first)?, until: moment(next.max(first.tomorrow().ok()?))?, label })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sentence: &str) -> Vec<(String, Option<String>, bool)> {
        // A Wednesday.
        let said: Timestamp = "2024-05-01T10:00:00Z".parse().unwrap();
        let plans = plans(sentence, said, &TimeZone::UTC);
        plans.into_iter().map(|plan| (plan.event, plan.when.map(|when| when.label), plan.changed)).collect()
    }

    #[test]
    fn an_appointment_has_the_date_that_was_meant() {
        for (sentence, event, label) in [
            ("下周三面试", "面试", "2024-05-08"),
            ("我明天要去体检", "体检", "2024-05-02"),
            ("周五下午三点我有个面试", "面试", "2024-05-03"),
            ("5月20号考试", "考试", "2024-05-20"),
            ("我后天出差", "出差", "2024-05-03"),
            ("I have a job interview on Friday", "job interview", "2024-05-03"),
            ("I have a dentist appointment tomorrow", "dentist appointment", "2024-05-02"),
            ("Tomorrow I have an exam", "exam", "2024-05-02"),
            ("my flight is on May 20", "flight", "2024-05-20"),
        ] {
            assert_eq!(found(sentence), [(event.to_owned(), Some(label.to_owned()), false)], "{sentence}");
        }
    }

    #[test]
    fn what_is_moved_or_called_off_says_so() {
        assert_eq!(found("面试改到周五了"), [("面试".into(), Some("2024-05-03".into()), true)]);
        assert_eq!(found("面试取消了"), [("面试".into(), None, true)]);
        assert_eq!(
            found("my interview has been moved to Friday"),
            [("interview".into(), Some("2024-05-03".into()), true)]
        );
        assert_eq!(found("My flight was cancelled"), [("flight".into(), None, true)]);
    }

    #[test]
    fn other_peoples_and_past_appointments_are_none() {
        for sentence in [
            "他下周三面试",
            "上周三面试",
            "我妈明天手术",
            "He has an interview on Friday",
            "I had an exam last Friday",
            "明天不考试",
            "如果明天考试怎么办",
        ] {
            assert!(found(sentence).is_empty(), "{sentence}: {:?}", found(sentence));
        }
    }
}
