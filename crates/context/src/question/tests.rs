use super::*;

#[test]
fn questions_with_and_without_a_mark() {
    for question in [
        "What did the vet say?",
        "what's my brother's wife called again",
        "hey, do you remember the name of that cafe",
        "how much was the deposit",
        "If I take the early train, when do I arrive?",
        "Hi! Any ideas for dinner?",
        "我的猫多大了？",
        "我妈的生日是几号",
        "还记得我说的那家面馆吗",
        "你好！周末去哪里玩比较好？",
        "为什么天空是蓝的",
        "上次那个方案叫什么来着",
        "我那只猫，它叫什么名字？",
        "My old neighbour, what was his name?",
        "Tell me where my keys are",
        "please show me what you have on the lease",
        "any clue where the charger went",
        "I was wondering if the dentist called",
        "Summarize what we planned",
        "说说我养过什么宠物",
        "帮我回忆一下面试的时间",
        "我的伞放哪儿了",
    ] {
        assert!(is_question(question), "{question}");
    }
}

#[test]
fn statements_and_statements_with_a_question() {
    for statement in [
        "I adopted a greyhound last week. What should I feed her?",
        "We finally signed the lease, isn't that great?",
        "Did I tell you that my cousin is getting married?",
        "guess what? I passed!",
        "The deadline is Friday, right?",
        "When I was young we lived by the sea.",
        "我下个月要搬去成都了，有什么要注意的？",
        "难道我不想去吗？",
        "我搬到里斯本了，怎么办？",
        "我在医院上班，天天夜班，嗯，怎么调整作息？",
        "I work nights at a hospital, ugh, how do I fix my sleep?",
        "我终于考过驾照了，你知道吗？",
        "今天面试挺顺利的，对吧？",
        "随便什么都行，我不挑。",
        "I don't know what he wants.",
        "Tell me a story, I slept badly.",
        "Tell my sister I moved to Ghent.",
        "大家说说笑笑，一下午就过去了",
        "其实我没什么胃口",
        "ok",
        "",
    ] {
        assert!(!is_question(statement), "{statement}");
    }
}
