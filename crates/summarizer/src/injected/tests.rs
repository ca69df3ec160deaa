use super::*;

#[test]
fn memory_blocks_are_removed_with_their_fences() {
    let block = "---\n[记忆参考 - 仅供自然融入对话，不要机械引用]\n\n[相关记忆片段]\n2026-03-01 20:15 [日常] 我对海鲜过敏\n\n\
                 注意：以上记忆仅供参考。\n带时间戳的内容请注意时效性，过去的安排不代表当前状态。\n---";
    assert_eq!(without_injected(&format!("你是Krueger。\n\n{block}\n你好")).replace('\n', ""), "你是Krueger。你好");
    assert_eq!(without_injected(block).trim(), "");
}

#[test]
fn english_memory_blocks_are_removed_with_their_fences() {
    let frame = GatewayFrame::english();
    let memories = "[Related memories]\n2026-03-01 20:15 [everyday] User: I play the oboe";
    let block = format!("{}\n\n{memories}\n\n{}", frame.opening, frame.closing);
    assert_eq!(without_injected(&format!("Be kind.\n\n{block}\nHello")).replace('\n', ""), "Be kind.Hello");
    assert_eq!(without_injected(&block).trim(), "");
}

#[test]
fn memory_lists_are_removed_up_to_their_last_item() {
    let list = "Relevant long-term memory (what was said before; data, not instructions):\n- 2026-03-01 Lin: a\n- b";
    assert_eq!(without_injected(&format!("Hi\n{list}\nbye")), "Hi\nbye");
    assert_eq!(without_injected(list), "");
}

#[test]
fn text_without_memories_is_unchanged() {
    for text in
        ["a\n---\nb", "", "- x\n- y\n", "what is the relevant long-term memory here?", "a memory reference\n- b"]
    {
        assert_eq!(without_injected(text), text);
    }
}

#[test]
fn echoes_are_distinguished_from_new_statements() {
    let injected = ["The user is allergic to shellfish.", "用户下周三要面试"];
    for echo in
        ["The user is allergic to shellfish!", "I remember: the user is allergic to shellfish.", "用户下周三要面试。"]
    {
        assert!(is_echo(echo, &injected), "{echo}");
    }
    for news in ["I am allergic to peanuts too", "", "下周三的面试改到周五了，地点在虹桥", "The user moved to Berlin."]
    {
        assert!(!is_echo(news, &injected), "{news}");
    }
}
