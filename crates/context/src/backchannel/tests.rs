use super::*;

#[test]
fn responses_greetings_and_laughter_are_backchannels() {
    for text in [
        "Okay, thank you so much!",
        "hahahah",
        "Sooo cool 😀",
        "yes please",
        "That's great, thanks for your help.",
        "Good evening!",
        "Hi! How can I help you today?",
        "sounds good to me",
        "Nice!",
        "嗯嗯，知道啦",
        "哈哈哈哈太棒了",
        "好好好，谢谢你～",
        "你好呀，在吗？",
        "谢谢，辛苦了！",
        "收到，没问题",
        "早",
        "您好！请问有什么可以帮您的吗？",
    ] {
        assert!(is_backchannel(text), "{text}");
    }
}

#[test]
fn texts_with_content_are_none() {
    for text in [
        "thanks, Nora",
        "how can I help my sister?",
        "nice soup",
        "yes, on Friday",
        "no shrimps please",
        "haze over the bay",
        "I am happy",
        "42",
        "好吃",
        "谢谢小雨",
        "对虾过敏",
        "早饭吃了吗",
        "行李收好了",
        "是妹妹",
        "😀",
        "",
    ] {
        assert!(!is_backchannel(text), "{text}");
    }
}
