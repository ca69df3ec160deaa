//! Dates in Chinese.

use jiff::civil::Date;

use crate::{
    Exactness,
    calendar::{Count, Part, Reference, Season, Stretch, Unit},
    holidays,
    numbers::{self, chinese_count, is_numeral, number},
    scan::Scan,
    window::Read,
};

type Found = Option<(usize, Stretch)>;

/// The date that begins at a place, the longest one.
pub(crate) fn parse(scan: &Scan, begin: usize, reference: &Reference<'_>) -> Option<Read> {
    let at = begin;
    // None begins with a Latin letter, a blank or a sign.
    if scan.at(at).is_none_or(|c| c.is_ascii() && !c.is_ascii_digit()) {
        return None;
    }
    let found = [
        day(scan, at, reference),
        week(scan, at, reference),
        month(scan, at, reference),
        relative_year(scan, at, reference),
        written(scan, at, reference),
        ago(scan, at, reference),
        recent(scan, at, reference),
    ];
    let (end, stretch) = found.into_iter().flatten().max_by_key(|(end, _)| *end)?;
    let (end, stretch) = shifted(scan, end, stretch).unwrap_or((end, stretch));
    Some(Read { begin, end, stretch })
}

/// Whether the word at a place is one: neither does the character before it take its first one away ("目前年轻人"), nor the
/// one after it its last.
fn stands(scan: &Scan, begin: usize, end: usize, not_before: &str, not_after: &str) -> bool {
    scan.before(begin).is_none_or(|c| !not_before.contains(c)) && scan.at(end).is_none_or(|c| !not_after.contains(c))
}

/// Characters that make a word with 上 after them: "网上周边" has no last week in it.
const ENDS_IN_UP: &str = "网马晚早路街海身天线加赶遇爱楼船床桌车世际实本地脸手头心山岸晨";
/// The same for 下.
const ENDS_IN_DOWN: &str = "天地楼脚手眼当乡台之以私笔月灯底树山桌床车水";
/// Characters that make another word of a 周 before them.
const AFTER_WEEK: &str = "围边刊密岁";

/// 前天, 昨天下午, 今晚.
fn day(scan: &Scan, at: usize, reference: &Reference<'_>) -> Found {
    /// A word, how many days from today, and what may stand neither before nor after it.
    const DAYS: [(&str, i64, &str, &str); 10] = [
        ("大前天", -3, "", ""),
        ("前天", -2, "以之从目此先当生空眼提面大", ""),
        ("昨天", -1, "", ""),
        ("昨日", -1, "", ""),
        ("今天", 0, "如当至现古", ""),
        ("今日", 0, "如当至现古", "头"),
        ("明天", 1, "聪文发证表声透黎", ""),
        ("明日", 1, "聪文发证表声透黎", "方香"),
        ("大后天", 3, "", ""),
        ("后天", 2, "以之然最随先背午事饭课大", "性努"),
    ];
    const NIGHTS: [(&str, i64, Part); 10] = [
        ("前晚", -2, Part::Night),
        ("昨晚", -1, Part::Night),
        ("昨夜", -1, Part::Night),
        ("昨早", -1, Part::Morning),
        ("今晚", 0, Part::Night),
        ("今夜", 0, Part::Night),
        ("今早", 0, Part::Morning),
        ("今晨", 0, Part::Morning),
        ("明早", 1, Part::Morning),
        ("明晚", 1, Part::Night),
    ];
    for (word, offset, part) in NIGHTS {
        if let Some(end) = scan.word(at, word)
            && stands(scan, at, end, "目以之如当聪文发证表声透", "")
        {
            return Some((end, reference.day(offset)?.part(part)?));
        }
    }
    for (word, offset, not_before, not_after) in DAYS {
        if let Some(end) = scan.word(at, word) {
            if !stands(scan, at, end, not_before, not_after) {
                return None;
            }
            return part(scan, end, reference.day(offset)?);
        }
    }
    None
}

/// The part of the day that may follow a day.
fn part(scan: &Scan, at: usize, day: Stretch) -> Found {
    const PARTS: [(&[&str], Part); 6] = [
        (&["凌晨"], Part::SmallHours),
        (&["早上", "早晨", "清晨", "上午", "一早"], Part::Morning),
        (&["中午"], Part::Noon),
        (&["下午", "午后"], Part::Afternoon),
        (&["傍晚"], Part::Evening),
        (&["晚上", "夜里", "夜晚", "半夜", "深夜"], Part::Night),
    ];
    let start = scan.word(at, "的").unwrap_or(at);
    for (words, part) in PARTS {
        if let Some((end, _)) = scan.one_of(start, words) {
            return Some((end, day.part(part)?));
        }
    }
    Some((at, day))
}

/// 上周, 上周五晚上, 这周末.
fn week(scan: &Scan, at: usize, reference: &Reference<'_>) -> Found {
    const PREFIXES: [(&str, i64, &str); 6] = [
        ("上上", -2, ENDS_IN_UP),
        ("上", -1, ENDS_IN_UP),
        ("下下", 2, ENDS_IN_DOWN),
        ("下", 1, ENDS_IN_DOWN),
        ("这", 0, ""),
        ("本", 0, "日基根书课版资原剧"),
    ];
    let (end, offset, not_before) =
        PREFIXES.iter().find_map(|(word, offset, before)| Some((scan.word(at, word)?, *offset, *before)))?;
    let counted = scan.word(end, "个");
    let (end, _) = scan.one_of(counted.unwrap_or(end), &["星期", "礼拜", "周"])?;
    if !stands(scan, at, end, not_before, if counted.is_some() { "" } else { AFTER_WEEK }) {
        return None;
    }
    if let Some(end) = scan.word(end, "末") {
        return Some((end, reference.weekend(offset)?));
    }
    match weekday(scan, end) {
        Some((end, weekday)) => part(scan, end, reference.weekday(offset, weekday)?),
        None => Some((end, reference.week(offset)?)),
    }
}

/// The day of the week at a place; Monday is 0.
fn weekday(scan: &Scan, at: usize) -> Option<(usize, i64)> {
    let (end, weekday) = scan.one_of(at, &["一", "二", "三", "四", "五", "六", "日", "天"])?;
    let next = scan.at(end);
    let counts = |c: char| is_numeral(c) || "个次名位种件条张块元年月周只家台篇遍斤岁天".contains(c);
    let other = match weekday {
        // 上周一直, 上周一起
        0 => next.is_some_and(|c| counts(c) || "直起共般些定样切向度时".contains(c)),
        1..=5 => next.is_some_and(counts),
        // 上周日本, 上周天气
        6 => next.is_some_and(|c| "本子常程期记元语".contains(c)),
        _ => next.is_some_and(|c| "气空天真津才生".contains(c)),
    };
    (!other).then_some((end, i64::try_from(weekday.min(6)).unwrap_or(6)))
}

/// 上个月, 这个月五号.
fn month(scan: &Scan, at: usize, reference: &Reference<'_>) -> Found {
    const MONTHS: [(&str, i64, &str); 8] = [
        ("上上个月", -2, ""),
        ("上个月", -1, ""),
        ("上月", -1, ENDS_IN_UP),
        ("下下个月", 2, ""),
        ("下个月", 1, ""),
        ("下月", 1, ENDS_IN_DOWN),
        ("这个月", 0, ""),
        ("本月", 0, "日基根书课版资原剧"),
    ];
    let (end, offset, not_before) =
        MONTHS.iter().find_map(|(word, offset, before)| Some((scan.word(at, word)?, *offset, *before)))?;
    if !stands(scan, at, end, not_before, "亮球光饼台") {
        return None;
    }
    let month = reference.month(offset)?;
    match day_of_month(scan, end) {
        Some((end, day)) => {
            let first = month.from.date();
            part(scan, end, Stretch::day(Date::new(first.year(), first.month(), day).ok()?)?)
        }
        None => Some((end, month)),
    }
}

/// A day of the month with 号 or 日.
fn day_of_month(scan: &Scan, at: usize) -> Option<(usize, i8)> {
    let (end, day) = number(scan, at)?;
    let (end, _) = scan.one_of(end, &["号", "日"])?;
    let building = scan.at(end).is_some_and(|c| "楼线院店桌门机房".contains(c));
    (!building && (1..=31).contains(&day)).then_some((end, i8::try_from(day).ok()?))
}

/// 去年, 去年夏天, 今年春节, 前年五月七号.
fn relative_year(scan: &Scan, at: usize, reference: &Reference<'_>) -> Found {
    const YEARS: [(&str, i16, &str); 6] = [
        ("大前年", -3, ""),
        ("前年", -2, "以之从目此先当生空眼提面大"),
        ("去年", -1, "过失"),
        ("今年", 0, "如当至现"),
        ("明年", 1, "聪文发证表声透"),
        ("后年", 2, "以之然"),
    ];
    let (end, offset, not_before) =
        YEARS.iter().find_map(|(word, offset, before)| Some((scan.word(at, word)?, *offset, *before)))?;
    if !stands(scan, at, end, not_before, "纪") {
        return None;
    }
    within_year(scan, end, reference.year(offset))
}

/// What may follow a year: a month with a day, a season, a holiday.
fn within_year(scan: &Scan, end: usize, year: i16) -> Found {
    let next = scan.word(end, "的").unwrap_or(end);
    let of_year = month_and_day(scan, next, year).or_else(|| {
        let (end, season) = season(scan, next)?;
        Some((end, Stretch::season(year, season)?))
    });
    of_year.or_else(|| holidays::of_year(scan, next, year)).or_else(|| Some((end, Stretch::year(year)?)))
}

fn season(scan: &Scan, at: usize) -> Option<(usize, Season)> {
    const SEASONS: [(&[&str], Season); 4] = [
        (&["春天", "春季"], Season::Spring),
        (&["夏天", "夏季"], Season::Summer),
        (&["秋天", "秋季"], Season::Autumn),
        (&["冬天", "冬季"], Season::Winter),
    ];
    SEASONS.iter().find_map(|(words, season)| Some((scan.one_of(at, words)?.0, *season)))
}

/// A month of a year, with a day and a part of it if they follow.
fn month_and_day(scan: &Scan, at: usize, year: i16) -> Found {
    let (end, month) = month_number(scan, at)?;
    match day_of_month(scan, end) {
        Some((end, day)) => part(scan, end, Stretch::day(Date::new(year, month, day).ok()?)?),
        None => Some((scan.word(end, "份").unwrap_or(end), Stretch::month(year, month)?)),
    }
}

fn month_number(scan: &Scan, at: usize) -> Option<(usize, i8)> {
    let (end, month) = number(scan, at)?;
    let end = scan.word(end, "月")?;
    (1..=12).contains(&month).then_some((end, i8::try_from(month).ok()?))
}

/// 2023年5月, 二〇二三年, 五月七号, 5月.
fn written(scan: &Scan, at: usize, reference: &Reference<'_>) -> Found {
    if scan.is_inside_number(at) {
        return None;
    }
    if let Some((end, year)) = numbers::year(scan, at)
        && let Some(end) = scan.word(end, "年")
    {
        if scan.at(end).is_some_and(|c| "历前后间多来以之".contains(c)) {
            return None; // so many years, or before that year
        }
        return within_year(scan, end, year).map(|(end, stretch)| (end, stretch.named()));
    }
    if let Some((end, short)) = numbers::digits(scan, at)
        && end == at + 2
        && let Some((end, stretch)) =
            scan.word(end, "年").and_then(|end| month_and_day(scan, end, 2000 + i16::try_from(short).ok()?))
    {
        return Some((end, stretch.named()));
    }
    // Of a year that was not read: 1806年9月, 洪武十八年冬十月.
    if scan.before(at).is_some_and(|c| "年春夏秋冬".contains(c)) {
        return None;
    }
    let (end, month) = month_number(scan, at)?;
    if let Some((end, day)) = day_of_month(scan, end) {
        return part(scan, end, reference.latest_day(month, day)?);
    }
    if scan.before(at).is_some_and(|c| "每几逢个满".contains(c)) {
        return None;
    }
    let end = match scan.word(end, "份") {
        Some(end) => end,
        // 五月天 is a band, 一月一次 a rate.
        None if scan.at(end).is_some_and(|c| is_numeral(c) || "天亮球光花饼台子刊薪考经底".contains(c)) => {
            return None;
        }
        None => end,
    };
    Some((end, reference.latest_month(month)?))
}

/// The unit of time at a place, for counting.
fn unit(scan: &Scan, at: usize) -> Option<(usize, Unit)> {
    const UNITS: [(&[&str], Unit); 6] = [
        (&["分钟"], Unit::Minute),
        (&["个小时", "小时", "个钟头", "钟头"], Unit::Hour),
        (&["天"], Unit::Day),
        (&["个星期", "星期", "个礼拜", "礼拜", "周"], Unit::Week),
        (&["个月"], Unit::Month),
        (&["年"], Unit::Year),
    ];
    UNITS.iter().find_map(|(words, unit)| Some((scan.one_of(at, words)?.0, *unit)))
}

/// 三天前, 两周之前, 半年前, 几个月前.
fn ago(scan: &Scan, at: usize, reference: &Reference<'_>) -> Found {
    if scan.is_inside_number(at) || scan.before(at).is_some_and(|c| "第前后".contains(c)) {
        return None;
    }
    let (end, count) = chinese_count(scan, at)?;
    let (end, unit) = unit(scan, end)?;
    let (end, _) = scan.one_of(end, &["以前", "之前", "前"])?;
    if scan.at(end).is_some_and(|c| "后夕任线沿台进往方面提".contains(c)) {
        return None; // 三天前后, 两年前任
    }
    Some((end, reference.ago(count, unit)?))
}

/// 刚才, 最近, 这几天, 过去三天.
fn recent(scan: &Scan, at: usize, reference: &Reference<'_>) -> Found {
    let rough = |stretch: Option<Stretch>| Some(stretch?.with(Exactness::Rough));
    if let Some((end, n)) = scan.one_of(at, &["刚才", "刚刚"]) {
        let moment = n == 0 || !scan.at(end).is_some_and(|c| "好够巧".contains(c));
        return moment.then_some((end, rough(reference.last(Count::Exactly(1), Unit::Hour))?));
    }
    if let Some((end, _)) = scan.one_of(at, &["最近", "过去", "近", "这"])
        && let Some((end, count)) = chinese_count(scan, end)
        && let Some((end, unit)) = unit(scan, end)
    {
        let plain = scan.word(at, "近").is_none() || !scan.before(at).is_some_and(|c| "附将靠接亲走".contains(c));
        // "这一天" is a day of a story, and 这两年 goes on into now.
        let this = scan.word(at, "这").is_some();
        let counted = !this || matches!((count, unit), (Count::Few, _) | (Count::Exactly(2..), Unit::Day));
        return (plain && counted).then_some((end, reference.last(count, unit)?));
    }
    if let Some(end) = scan.word(at, "最近") {
        // The nearest one, and not lately.
        let nearest = scan.at(end).is_some_and(|c| "的距一点邻那".contains(c))
            || (1..=4).any(|back| at.checked_sub(back).and_then(|p| scan.at(p)).is_some_and(|c| "离距".contains(c)));
        return (!nearest).then_some((end, rough(reference.last(Count::Exactly(30), Unit::Day))?));
    }
    if let Some((end, _)) = scan.one_of(at, &["近来", "近期", "近日"]) {
        let plain = !scan.before(at).is_some_and(|c| "附将靠接亲走远".contains(c));
        return plain.then_some((end, rough(reference.last(Count::Exactly(30), Unit::Day))?));
    }
    if let Some((end, n)) = scan.one_of(at, &["前几天", "前两天", "前些天", "前阵子", "前段时间", "这阵子", "这段时间"])
    {
        // "考试前两天" counts from the examination.
        let begins = scan.before(at).is_none_or(|c| !crate::scan::is_latin(c) && !is_word(c));
        let days = if n < 3 { 7 } else { 60 };
        return begins.then_some((end, rough(reference.last(Count::Exactly(days), Unit::Day))?));
    }
    None
}

/// A Chinese character that may be the end of what something came before; not one of those that sentences begin with.
fn is_word(c: char) -> bool {
    memory_engine_core::text::is_han(c) && !"我你您他她它们就在是了也都和跟但那".contains(c)
}

/// 前两天 or 的三天后 after a date: so much before or after it.
fn shifted(scan: &Scan, end: usize, stretch: Stretch) -> Found {
    let of = scan.word(end, "的").unwrap_or(end);
    if let Some((next, later)) = scan.one_of(of, &["之前", "前", "之后", "后"]).map(|(next, n)| (next, n > 1))
        && let Some((next, count)) = chinese_count(scan, next)
        && let Some((next, unit)) = unit(scan, next)
    {
        return Some((next, stretch.shifted(count, unit, later)?));
    }
    if of == end && stretch.relative && stretch.exactness == Exactness::Exact {
        return None; // 昨天三天前的面包: two dates
    }
    let (next, count) = chinese_count(scan, of)?;
    let (next, unit) = unit(scan, next)?;
    let (next, n) = scan.one_of(next, &["之前", "前", "之后", "后"])?;
    Some((next, stretch.shifted(count, unit, n > 1)?))
}
