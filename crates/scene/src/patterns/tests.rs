use super::*;
use crate::message::Message;

/// The id of a pattern, a message that it matches, and a near miss.
const CASES: &[(&str, &str, &str)] = &[
    ("en.plot.enter.rp-word", "let's do some RP tonight", "he likes RP"),
    ("en.plot.enter.invite", "would you like to role-play?", "do you like role playing?"),
    ("en.plot.enter.order", "Role play: a heist", "Role play is fun"),
    ("en.plot.enter.resume", "let's continue our story", "let's continue our walk"),
    ("en.plot.enter.act-out", "let's act out a duel", "let's find out"),
    ("en.plot.enter.cast-model", "You are a pirate captain now", "You are a good friend"),
    ("en.plot.enter.cast-both", "You be the cop, I'll be the thief", "You'll be fine, I'll be the judge"),
    ("en.plot.enter.setting", "Scene: a tavern", "what a scene"),
    ("en.plot.enter.pretend", "Pretend we're stranded on Mars", "Pretend it never happened"),
    ("en.plot.enter.cast-order", "Could you play my dad?", "Could you play a song?"),
    ("en.plot.enter.action", "*draws his sword*", "*hugs you*"),
    ("en.plot.enter.paren-action", "(raises the shield)", "(raises an eyebrow)"),
    ("en.plot.exit.out-of-character", "(ooc: sorry)", "that is out of character for him"),
    ("en.plot.exit.double-paren", "((one moment))", "(one moment)"),
    ("en.plot.exit.role-play", "stop the role play", "don't stop the role play"),
    ("en.plot.exit.order", "End scene.", "The scene ended badly"),
    ("en.plot.exit.propose", "Can we stop the game?", "The game has stopped being fun for the prince"),
    ("en.plot.exit.stop-here", "let's stop here", "let's stop at the river"),
    ("en.plot.exit.reality", "back to reality", "back to the ship"),
    ("en.plot.exit.leave", "gtg", "we must go, my lord"),
    ("en.plot.exit.interrupt", "Hold on, my phone is ringing", "Hold on, did you hear that?"),
    ("en.plot.exit.aside", "(sorry, my boss wrote)", "(sorry, my love)"),
    ("en.plot.exit.pause", "pause please", "I pause at the door"),
    ("plot.exit.daily-life", "anything", "((not plain))"),
    ("zh.plot.enter.script-word", "来玩剧本吧", "剧本杀好玩吗"),
    ("zh.plot.enter.act-word", "来演一段", "谁来演女主"),
    ("zh.plot.enter.play-word", "我们来玩吧", "周末来玩吧"),
    ("zh.plot.enter.role-play-word", "我们角色扮演吧", "角色扮演游戏好玩吗"),
    ("zh.plot.enter.resume-word", "接着演", "明天接着演"),
    ("zh.plot.enter.invite", "陪我演一场分手的戏", "陪我看一场电影"),
    ("zh.plot.enter.resume", "继续我们的故事", "继续看书"),
    ("zh.plot.enter.cast-model", "你现在是海盗船长", "你现在是不是很忙"),
    ("zh.plot.enter.cast-both", "我演公主，你演骑士", "我做饭，你做家务"),
    ("zh.plot.enter.setting", "设定：民国上海", "这个设定不错"),
    ("zh.plot.enter.pretend", "假装我们是间谍", "别假装我们是陌生人"),
    ("zh.plot.enter.action", "（拔剑）", "（拔网线）"),
    ("zh.plot.exit.not-playing-word", "好累，不玩了", "他不玩了"),
    ("zh.plot.exit.back-word", "好了，回来聊天吧", "你终于回来了"),
    ("zh.plot.exit.chat-word", "我们正常聊", "没法正常聊"),
    ("zh.plot.exit.out-of-play-word", "先出戏一下", "这出戏唱完了"),
    ("zh.plot.exit.pause-word", "暂停剧情", "暂停行军"),
    ("zh.plot.exit.pause-alone", "先暂停一下", "他暂停了一下"),
    ("zh.plot.exit.frame", "不想继续这个剧情了", "她从林子里走出来"),
    ("zh.plot.exit.stop", "我们不演了", "他们不演了"),
    ("zh.plot.exit.stop-here", "今天就演到这里吧", "我走到这里"),
    ("zh.plot.exit.reality", "回到现实", "回到京城"),
    ("zh.plot.exit.leave", "我先去洗澡啦", "我去杀敌"),
    ("en.meta.test-word", "test 1 2 3", "a math test"),
    ("en.meta.testing", "just testing if this works", "testing my patience"),
    ("en.meta.tool-word", "call the search tool", "what tool fixes a leaking tap"),
    ("en.meta.tools", "list your tools", "pack the tools"),
    ("en.meta.server-word", "is the server up?", "our server was rude"),
    ("en.meta.server-order", "restart the server", "the server is down"),
    ("en.meta.technical-word", "the API key expired", "the company's API is a mess"),
    ("en.meta.debug-word", "debug mode", "debug my marriage"),
    ("en.meta.about-model", "which model are you?", "which train model is that?"),
    ("zh.meta.test-word", "测试一下记忆功能", "数学测试考砸了"),
    ("zh.meta.tool-word", "调用搜索工具", "工具箱在哪"),
    ("zh.meta.server-word", "服务器还好吗", "公司服务器崩了"),
    ("zh.meta.server-order", "看看服务器日志", "服务器被黑客入侵了"),
    ("zh.meta.about-model", "你是什么模型", "高达模型到了"),
];

#[test]
fn every_pattern_has_a_message_and_a_near_miss() {
    let ids: Vec<&str> = built_in().iter().map(|pattern| pattern.id.as_str()).collect();
    let set = PatternSet::of(built_in()).unwrap();
    let matches = |text: &str, at: usize| {
        let message = Message::parse(text);
        let is_tested = |sentence: &&Sentence| built_in()[at].parts.contains(&sentence.part);
        message.sentences.iter().filter(is_tested).any(|sentence| set.matches(sentence).contains(&at))
    };
    for (id, message, near_miss) in CASES {
        let at = ids.iter().position(|known| known == id).unwrap();
        assert!(matches(message, at), "{id}: {message}");
        assert!(!matches(near_miss, at), "{id}: {near_miss}");
    }
    let missing = ids.iter().find(|id| !CASES.iter().any(|case| case.0 == **id));
    assert_eq!((missing, CASES.len()), (None, ids.len()));
}

#[test]
fn words_of_patterns_are_in_the_lists() {
    let rules = crate::SceneRules::default();
    for pattern in built_in() {
        let list = match pattern.effect {
            PatternEffect::Label => rules.labels.iter().find(|rule| rule.name == pattern.scene).map(|rule| &rule.words),
            PatternEffect::Enter => rules.scenes.iter().find(|rule| rule.name == pattern.scene).map(|rule| &rule.enter),
            PatternEffect::Exit => rules.scenes.iter().find(|rule| rule.name == pattern.scene).map(|rule| &rule.exit),
        };
        let list = list.unwrap();
        assert!(pattern.words.iter().all(|word| list.contains(word)), "{}", pattern.id);
    }
}
