//! Chinese names, by surnames, titles and what names of places and institutions end with.

use std::collections::BTreeMap;

use memory_engine_core::text::is_han;

use super::titles;
use crate::{EntityKind, Mention};

/// The surnames of nine in ten people.
const SURNAMES: &str = "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆\
    郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文庞樊兰殷施陶洪翟安颜倪严牛温芦季俞章鲁葛伍韦申尤毕聂丛焦向柳邢路岳齐梅莫庄辛管祝左涂谷祁时舒耿牟卜詹关\
    苗凌费纪靳盛童欧甄项曲成游阳裴席卫查屈鲍位覃霍翁隋植甘景薄单包司柏宁柯阮桂闵解强柴华车冉房边辜吉饶刁瞿戚丘古米池滕晋苑邬臧畅宫嵺苟晏";
const DOUBLE_SURNAMES: &str = "欧阳 司马 上官 诸葛 东方 皇甫 尉迟 公孙 慕容 令狐 夏侯 司徒 端木 南宫 独孤";

/// What is no part of a name: particles, pronouns, verbs and prepositions of one character.
const NO_PART: &str = "的了是在不和与及跟我你您他她它们这那有就也都又很被把给对从到去来说问道想要会能让使着过吗呢吧啊哦呀于向往为但而或如若因所以之其每各某该此并还再只才已将正更最太却则且个位名座条家间";

/// Words that begin like a name and are none.
const NO_NAMES: &str = "高兴 方法 方面 方向 方式 方便 马上 马路 白天 白色 黄金 黄色 黄昏 金钱 金色 江湖 江山 \
    安全 安静 安排 常常 于是 许多 任务 任何 任意 石头 周围 周末 周年 花园 张开 王国 王子 \
    王后 王爷 公主 时间 时候 成功 成为 成绩 关系 关于 关心 管理 强大 强烈 解决 解释 单位 \
    文化 文件 文章 古代 古老 严重 严肃 温柔 温暖 武器 武功 万一 何必 何时 程度 车子 车站 \
    房子 房间 边缘 曲折 华丽 游戏 阳光 向前 易经 高大 高手 高中 高山 田野 林子 林间 水平 \
    年轻 龙王 雷声 汤里 夏天 夏日 秋天 冬天 季节 梅花 叶子 柳树 牛肉 马车 项目 包括 包子 \
    景色 查看 席间 路上 路边 左右 左手 左边 顾客 欧洲 段时间 明天 钟头 余下 曾经 应该 康复 \
    祝福 谢谢 何况 安慰 计划 米饭 池塘 屈服 童年 丛林 甘心 宁静 宁愿 盛大 费用 位置 司机 \
    白酒 史上 连忙 阴谋";

/// What the names of places end with.
const PLACES: &str = "自治区 大街 车站 机场 码头 客栈 酒楼 山庄 森林 半岛 群岛 市 省 县 镇 乡 村 城 山 河 \
    江 湖 海 岛 谷 岭 峰 寺 庙 宫 殿 塔 桥 街 路 巷 港 湾 州 国 关 堡";
/// What the names of institutions end with.
const ORGS: &str = "有限公司 公司 集团 大学 学院 中学 小学 银行 医院 研究所 委员会 协会 基金会 俱乐部 出版社 \
    报社 电视台 帮 派 门 军团 商会 公会 骑士团";
/// Words that end like a place or an institution and are no name of one.
const NO_PLACES: &str = "城市 超市 股市 门市 夜市 都市 上市 外省 节省 知县 小镇 乡镇 家乡 老乡 同乡 故乡 小村 \
    山村 农村 进城 出城 全城 古城 上山 下山 爬山 登山 高山 深山 大山 火山 江山 冰山 小山 \
    山河 大河 小河 过河 大江 长河 江湖 大海 上海 下海 出海 脑海 人海 小岛 山谷 低谷 山岭 \
    山峰 高峰 寺庙 皇宫 后宫 故宫 宫殿 大殿 宝塔 大桥 小桥 天桥 上街 逛街 大街 街路 道路 \
    公路 马路 铁路 走路 迷路 出路 思路 网路 小巷 海港 海湾 祖国 外国 王国 帝国 敌国 出国 \
    回国 全国 各国 两国 本国 我国 机关 有关 相关 难关 开关 把关 城堡 古堡 分公司 子公司 \
    总公司 本公司 大门 开门 关门 出门 进门 部门 专门 房门 城门 校门 后门 前门 热门 入门 敲门 \
    铁门 木门 帮帮 两派 反派 气派 帮派 一派 正派 山门 家门 车门 掌门 同门 本门 上路 一路 \
    赶路 问路 半路 山路 小路 大路 多国 爱国";

/// What people do who speak, and what they do else.
const SPEAKS: &str = "说道问答笑喊叹";
const ACTS: &str = "是在和与跟把被对向从给";

/// Verbs after which somebody's name comes.
const CALLED: &str = "名字叫 名叫 叫做 叫作 名为 人称 外号 绰号 代号 取名 改名";

/// The names in a text.
pub(super) fn names(text: &str) -> Vec<Mention> {
    let mut found = works(text);
    let mut three: BTreeMap<String, usize> = BTreeMap::new();
    let mut two: BTreeMap<String, Vec<Option<char>>> = BTreeMap::new();
    let simplified = memory_engine_core::text::normalize(text);
    // The conversion may change how many characters there are; then names stay as they are spelled.
    let surnames_of: Vec<char> = if simplified.chars().count() == text.chars().count() {
        simplified.chars().collect()
    } else {
        text.chars().collect()
    };
    let characters: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < characters.len() {
        if !is_han(characters[at]) {
            at += 1;
            continue;
        }
        let length = characters[at..].iter().take_while(|c| is_han(**c)).count();
        let run = Run { text: &characters[at..at + length], folded: &surnames_of[at..at + length] };
        found.extend(run.titled());
        found.extend(run.called());
        found.extend(run.subject());
        found.extend(run.ending());
        run.count(&mut three, &mut two);
        at += length;
    }
    let often: Vec<String> = three.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect();
    let short = two.into_iter().filter(|(name, after)| {
        let mut kinds = after.clone();
        kinds.sort();
        kinds.dedup();
        // One that always goes on alike is the beginning of something longer.
        after.len() > 1 && kinds.len() > 1 && !often.iter().any(|long| long.starts_with(name.as_str()))
    });
    let short: Vec<String> = short.map(|(name, _)| name).collect();
    found.extend(often.iter().chain(&short).map(|name| Mention::new(name, EntityKind::Person)));
    found
}

/// What sort of thing a name says it is.
pub(super) fn kind_of(name: &str) -> EntityKind {
    let characters: Vec<char> = memory_engine_core::text::normalize(name).chars().collect();
    if characters.is_empty() || !characters.iter().copied().all(is_han) {
        return EntityKind::Other;
    }
    let folded: String = characters.iter().collect();
    let long = characters.len() > 2;
    if titles::AFTER.iter().any(|title| folded.len() > title.len() && folded.ends_with(title)) {
        EntityKind::Person
    } else if ORGS.split(' ').any(|end| folded.ends_with(end) && characters.len() > end.chars().count()) {
        EntityKind::Org
    } else if PLACES.split(' ').any(|end| folded.ends_with(end) && characters.len() > end.chars().count()) {
        EntityKind::Place
    } else if (characters.len() == 3 || (!long && characters.len() == 2)) && surname(&characters).is_some() {
        EntityKind::Person
    } else {
        EntityKind::Other
    }
}

/// Works, in the marks that are kept for them.
fn works(text: &str) -> Vec<Mention> {
    let parts = text.split('《').skip(1).filter_map(|part| part.split_once('》'));
    let short = parts.map(|(name, _)| name.trim()).filter(|name| (1..=30).contains(&name.chars().count()));
    short.map(|name| Mention::new(name, EntityKind::Concept)).collect()
}

/// How many characters of the beginning are a surname.
fn surname(folded: &[char]) -> Option<usize> {
    let begin: String = folded.iter().take(2).collect();
    if DOUBLE_SURNAMES.split(' ').any(|name| name == begin) {
        return Some(2);
    }
    folded.first().filter(|c| SURNAMES.contains(**c)).map(|_| 1)
}

/// A run of Chinese characters, as it is spelled and simplified.
struct Run<'t> {
    text: &'t [char],
    folded: &'t [char],
}

impl Run<'_> {
    fn spelled(&self, from: usize, to: usize) -> String {
        self.text[from..to].iter().collect()
    }

    fn is(&self, at: usize, word: &str) -> bool {
        self.folded[at..].iter().copied().take(word.chars().count()).eq(word.chars())
    }

    /// Names with a title: 王医生, 张小明老师.
    fn titled(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        for at in 0..self.folded.len() {
            let Some(family) = surname(&self.folded[at..]) else { continue };
            for given in (0..=2).rev() {
                let end = at + family + given;
                let whole = |title: &&&str| end < self.folded.len() && self.is(end, title);
                let Some(title) = titles::AFTER.iter().find(whole) else { continue };
                let plain = self.folded[at + family..end].iter().all(|c| !NO_PART.contains(*c));
                // 王总 is somebody, 王总是 is not.
                let cut = *title == "总" && self.folded.get(end + 1).is_some_and(|c| "是共有会要算得".contains(*c));
                if plain && !cut {
                    let name = self.spelled(at, end + title.chars().count());
                    found.push(Mention::new(name, EntityKind::Person));
                    break;
                }
            }
        }
        found
    }

    /// Names that a verb of naming announces: 名叫小石头.
    fn called(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        for at in 0..self.folded.len() {
            let Some(verb) = CALLED.split(' ').find(|verb| self.is(at, verb)) else { continue };
            let from = at + verb.chars().count();
            let rest = &self.folded[from..];
            let length = rest.iter().take_while(|c| !NO_PART.contains(**c)).count();
            // The sentence has to end with the name, or it is not known where the name does.
            if (2..=4).contains(&length) {
                found.push(Mention::new(self.spelled(from, from + length), EntityKind::Other));
            }
        }
        found
    }

    /// Who does something at the beginning of a clause: 林晓月说, 欧阳锋在. Two characters alone have to speak, since many words
    /// of two begin like a name.
    fn subject(&self) -> Option<Mention> {
        let family = surname(self.folded)?;
        let does = |given: usize, verbs: &str| self.folded.get(family + given).is_some_and(|c| verbs.contains(*c));
        let given = if does(2, SPEAKS) || does(2, ACTS) {
            2
        } else if does(1, SPEAKS) || (family == 2 && does(1, ACTS)) {
            1
        } else {
            return None;
        };
        let name: String = self.folded[..family + given].iter().collect();
        let plain = self.folded[family..family + given].iter().all(|c| !NO_PART.contains(*c));
        let common =
            NO_NAMES.split(' ').any(|no| name.contains(no)) || titles::AFTER.iter().any(|title| name.ends_with(title));
        (plain && !common).then(|| Mention::new(self.spelled(0, family + given), EntityKind::Person))
    }

    /// Places and institutions by their ends.
    fn ending(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        let mut after = 0;
        for at in 1..self.folded.len() {
            let kinds = [(ORGS, EntityKind::Org), (PLACES, EntityKind::Place)];
            let ends = kinds.iter().flat_map(|(ends, kind)| ends.split(' ').map(|end| (end, *kind)));
            let Some((end, kind)) = ends.filter(|(end, _)| self.is(at, end)).max_by_key(|(end, _)| end.len()) else {
                continue;
            };
            let until = at + end.chars().count();
            // 杭州 in 杭州市: the name goes on to the later end.
            let again =
                ORGS.split(' ').chain(PLACES.split(' ')).any(|next| until < self.folded.len() && self.is(until, next));
            if again {
                continue;
            }
            let before = self.folded[after..at].iter().rev().take_while(|c| !NO_PART.contains(**c)).count();
            let from = at - before;
            let word: String = self.folded[from..until].iter().collect();
            let common = NO_PLACES.split(' ').chain(NO_NAMES.split(' ')).any(|no| word.ends_with(no));
            // A longer run without a break is a sentence, not a name. 山 in 山庄 ends nothing; nor does one that goes on.
            let goes_on = self.folded.get(until).is_some_and(|c| "上下里中外人民区长头边门口前后东西南北".contains(*c));
            let room = 1..=if end.chars().count() > 1 { 6 } else { 3 };
            if room.contains(&before) && !common && !(goes_on && end.chars().count() == 1 && before < 2) {
                found.push(Mention::new(self.spelled(from, until), kind));
                after = until;
            }
        }
        found
    }

    /// Counts what may be a full name, to see what comes twice.
    fn count(&self, three: &mut BTreeMap<String, usize>, two: &mut BTreeMap<String, Vec<Option<char>>>) {
        for at in 0..self.folded.len() {
            let Some(family) = surname(&self.folded[at..]) else { continue };
            for given in 1..=2 {
                let end = at + family + given;
                let Some(name) = self.folded.get(at..end) else { continue };
                let word: String = name.iter().collect();
                let common = NO_NAMES.split(' ').any(|no| word.starts_with(no) || word[3..].starts_with(no));
                if common || name[family..].iter().any(|c| NO_PART.contains(*c)) {
                    continue;
                }
                let spelled = self.spelled(at, end);
                if given == 2 {
                    *three.entry(spelled).or_default() += 1;
                } else {
                    two.entry(spelled).or_default().push(self.folded.get(end).copied());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
