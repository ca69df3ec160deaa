//! Titles before and after names.

use memory_engine_core::text::is_han;

/// Titles before a name, lower case, without a full stop.
pub(crate) const BEFORE: &[&str] = &[
    "mr",
    "mrs",
    "ms",
    "miss",
    "mister",
    "madam",
    "madame",
    "sir",
    "lady",
    "lord",
    "dr",
    "doctor",
    "prof",
    "professor",
    "captain",
    "capt",
    "colonel",
    "general",
    "major",
    "sergeant",
    "lieutenant",
    "commander",
    "officer",
    "detective",
    "inspector",
    "agent",
    "king",
    "queen",
    "prince",
    "princess",
    "emperor",
    "empress",
    "duke",
    "duchess",
    "count",
    "countess",
    "baron",
    "baroness",
    "president",
    "senator",
    "mayor",
    "judge",
    "father",
    "mother",
    "brother",
    "sister",
    "uncle",
    "aunt",
    "master",
    "mistress",
    "saint",
    "chief",
    "coach",
    "herr",
    "frau",
    "don",
    "doña",
    "monsieur",
];

/// Titles after a Chinese name, the longer ones first.
pub(crate) const AFTER: &[&str] = &[
    "副总经理",
    "总经理",
    "董事长",
    "副教授",
    "女士",
    "先生",
    "小姐",
    "太太",
    "夫人",
    "医生",
    "大夫",
    "护士",
    "老师",
    "教授",
    "博士",
    "同学",
    "同志",
    "经理",
    "主任",
    "校长",
    "院长",
    "局长",
    "市长",
    "省长",
    "部长",
    "科长",
    "处长",
    "队长",
    "组长",
    "班长",
    "船长",
    "连长",
    "团长",
    "司令",
    "将军",
    "元帅",
    "大人",
    "公子",
    "姑娘",
    "少爷",
    "掌柜",
    "师傅",
    "师父",
    "师兄",
    "师姐",
    "师弟",
    "师妹",
    "道长",
    "大师",
    "阿姨",
    "叔叔",
    "伯伯",
    "爷爷",
    "奶奶",
    "哥哥",
    "姐姐",
    "弟弟",
    "妹妹",
    "律师",
    "警官",
    "总",
];

/// The name without its title, when what is left is more than a family name: "Anna Reed" of "Dr. Anna Reed", 李明 of 李明先生,
/// but nothing of "Mr. Reed" and 王先生, who would become one with everybody of that family.
pub(crate) fn without(name: &str) -> Option<String> {
    if let Some((first, rest)) = name.split_once(' ')
        && is_before(first)
    {
        let bare = without(rest).unwrap_or_else(|| rest.to_owned());
        return (bare.split(' ').count() > 1).then_some(bare);
    }
    let bare = AFTER.iter().find_map(|title| name.strip_suffix(title))?;
    (bare.chars().all(is_han) && bare.chars().count() > 1).then(|| bare.to_owned())
}

/// Whether a word is a title before a name.
pub(crate) fn is_before(word: &str) -> bool {
    let word = word.trim_end_matches('.').to_lowercase();
    BEFORE.contains(&word.as_str())
}

#[cfg(test)]
mod tests;
