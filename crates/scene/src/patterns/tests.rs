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
    ("plot.exit.double-paren", "((等一下))", "(one moment)"),
    ("plot.exit.slashes", "// 去吃饭", "and/or"),
    ("en.plot.exit.role-play", "stop the role play", "don't stop the role play"),
    ("en.plot.exit.order", "End scene.", "The scene ended badly"),
    ("en.plot.exit.propose", "Can we stop the game?", "The game has stopped being fun for the prince"),
    ("en.plot.exit.stop-here", "let's stop here", "let's stop at the river"),
    ("en.plot.exit.reality", "back to reality", "back to the ship"),
    ("en.plot.exit.leave", "gtg", "we must go, my lord"),
    ("en.plot.exit.interrupt", "Hold on, my phone is ringing", "Hold on, did you hear that?"),
    ("en.plot.exit.aside", "(sorry, my boss wrote)", "(sorry, my love)"),
    ("en.plot.exit.pause", "pause please", "I pause at the door"),
    ("en.plot.exit.discomfort", "I'm not enjoying this", "I enjoy the silence"),
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
    ("en.plot.exit.evidence.address", "let's eat", "they let us eat"),
    ("en.plot.exit.evidence.end", "that is enough", "that is a lot"),
    ("en.plot.exit.evidence.frame", "our story", "stop acting like a fool"),
    ("en.plot.exit.evidence.reality", "a real life question", "is this real life?"),
    ("en.plot.exit.evidence.question", "how do I boil eggs", "how the wind blows"),
    ("en.plot.exit.evidence.modern", "my laptop", "my lantern"),
    ("en.plot.exit.evidence.lead", "OK, bye", "he is okay"),
    ("en.plot.exit.evidence.story", "the horses are tired", "the hours are long"),
    ("en.plot.exit.evidence.cry", "no!", "no."),
    ("en.plot.exit.evidence.start", "start a story", "starting tomorrow"),
    ("zh.plot.exit.evidence.start", "我们来玩", "明天来玩"),
    ("en.plot.enter.evidence.invite", "let's go", "let's not go"),
    ("en.plot.enter.evidence.story", "make up a story", "my life story"),
    ("en.plot.enter.evidence.ours", "our adventure", "an adventure"),
    ("en.plot.enter.evidence.resume", "resume it", "a résumé"),
    ("en.plot.enter.evidence.roles", "you're two thieves", "you're not a thief"),
    ("en.plot.enter.evidence.pair", "You're Nemo and I'm a stowaway", "You're late and I'm tired"),
    ("en.plot.enter.evidence.fiction", "a vampire", "a book about a vampire"),
    ("en.plot.enter.evidence.narration", "You wake up in a cell", "You wake up late"),
    ("en.plot.enter.evidence.place", "We're in a haunted hotel", "We're in the car"),
    ("en.plot.enter.evidence.part", "You're the night clerk.", "You're the best."),
    ("en.plot.enter.evidence.start-call", "Go!", "Go home!"),
    ("zh.plot.exit.evidence.address", "我们走", "他们走"),
    ("zh.plot.exit.evidence.end", "今天太晚了", "天晴了"),
    ("zh.plot.exit.evidence.frame", "这段剧情", "这段路"),
    ("zh.plot.exit.evidence.play", "还要演", "还要走"),
    ("zh.plot.exit.evidence.reality", "说正经的", "回到现实世界的门"),
    ("zh.plot.exit.evidence.self", "做回你自己", "做饭"),
    ("zh.plot.exit.evidence.modern", "我要洗澡", "我要出剑"),
    ("zh.plot.exit.evidence.lead", "好了，走吧", "天好了"),
    ("zh.plot.exit.evidence.story", "陛下万岁", "早上好"),
    ("zh.plot.exit.evidence.cry", "走！", "走。"),
    ("zh.plot.enter.evidence.invite", "我们去", "我们不想去"),
    ("zh.plot.enter.evidence.story", "一段剧情", "电视的剧情"),
    ("zh.plot.enter.evidence.pretend", "假设下雨", "这个假设"),
    ("zh.plot.enter.evidence.era", "在唐朝", "唐朝历史"),
    ("zh.plot.enter.evidence.cast", "换你当", "别换你当"),
    ("zh.plot.enter.evidence.pair", "你是狼，我是羊", "你是狼吗，我是羊"),
    ("zh.plot.enter.evidence.you", "你是狼", "你是谁"),
    ("zh.plot.enter.evidence.role", "小红帽", "红帽子"),
    ("en.plot.enter.evidence.name", "You are Elena, a spy.", "You are late again."),
    ("zh.plot.enter.evidence.name", "你叫艾琳，是个间谍", "你叫什么"),
    ("zh.plot.enter.evidence.enter", "进入角色", "进入房间"),
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
fn every_pattern_compiles() {
    PatternSet::indexed(built_in()).unwrap().index.check().unwrap();
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
