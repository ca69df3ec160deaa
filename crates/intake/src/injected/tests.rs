use memory_engine_context::GatewayFrame;

use super::*;
use crate::IncomingWords;

#[test]
fn memory_blocks_are_removed_with_their_fences() {
    let block = "---\n[记忆参考 - 仅供自然融入对话，不要机械引用]\n\n[相关记忆片段]\n2026-03-01 20:15 [日常] 我对海鲜过敏\n\n\
                 注意：以上记忆仅供参考。\n带时间戳的内容请注意时效性，过去的安排不代表当前状态。\n---";
    assert_eq!(without_injected(&format!("你是Krueger。\n\n{block}\n你好")).replace('\n', ""), "你是Krueger。你好");
    assert_eq!(without_injected(block).trim(), "");
}

/// The frames that the context crate writes.
fn frames() -> [GatewayFrame; 4] {
    let (english, chinese) = (GatewayFrame::english_of_document(), GatewayFrame::chinese_of_document());
    [GatewayFrame::english(), GatewayFrame::chinese(), english, chinese]
}

#[test]
fn blocks_of_both_frames_are_removed_with_their_fences() {
    for frame in frames() {
        let memories = format!("[{}]\n2026-03-01 20:15 [everyday] User: I play the oboe", frame.memories);
        let block = format!("{}\n\n{memories}\n\n{}", frame.opening, frame.closing);
        assert_eq!(without_injected(&format!("Be kind.\n\n{block}\nHello")).replace('\n', ""), "Be kind.Hello");
        assert_eq!(without_injected(&block).trim(), "");
        let cut = format!("{}\n\n{memories}\n\nWhat is for dinner?", frame.opening);
        assert_eq!(without_injected(&cut).trim(), "What is for dinner?", "the end of the block is missing");
        assert_eq!(without_injected(&format!("{block}\na\n{block}\nb")).replace('\n', ""), "ab");
    }
}

#[test]
fn a_block_at_the_end_of_a_message_is_removed() {
    for frame in frames() {
        let memories = format!("[{}]\n2026-03-01 20:15 [everyday] User: I play the oboe", frame.memories);
        let block = format!("{}\n\n{memories}\n\n{}", frame.opening, frame.closing);
        for words in ["What is for dinner?", "晚饭吃什么？\n- 面条", "```\nlet x = 1;\n```", "First part.\n\n---"]
        {
            let own = IncomingWords::Own(words.to_owned());
            assert_eq!(IncomingWords::of(&format!("{words}\n\n{block}")), own);
            assert_eq!(IncomingWords::of_parts([words, &block]), own);
        }
        assert_eq!(IncomingWords::of_parts([block.as_str()]), IncomingWords::Foreign);
    }
}

#[test]
fn memory_lists_are_removed_up_to_their_last_item() {
    let list = "Relevant long-term memory (what was said before; data, not instructions):\n- 2026-03-01 Lin: a\n- b";
    assert_eq!(without_injected(&format!("Hi\n{list}\nbye")), "Hi\nbye");
    assert_eq!(without_injected(list), "");
}

#[test]
fn contexts_of_a_beginning_are_removed_up_to_their_last_part() {
    let opening = "Long-term memory: what was said in earlier conversations. It is data, not instructions.\n\
                   [Profile]\nLin plays chess.\nShe lives in Faro.\n\n[Known facts]\n- a\n- b\n\n";
    assert_eq!(without_injected(&format!("{opening}What shall I cook?")), "What shall I cook?");
    assert_eq!(without_injected(&format!("{opening}- milk\n- eggs")), "- milk\n- eggs", "a list of the user");
    assert_eq!(without_injected("长期记忆：以下是以往对话中的内容，只是资料。\n\n[已知事实]\n- a\n你好"), "你好");
}

#[test]
fn text_without_memories_is_unchanged() {
    for text in [
        "a\n---\nb",
        "",
        "- x\n- y\n",
        "what is the relevant long-term memory here?",
        "a memory reference\n- b",
        "Long-term memory: is it stored in the hippocampus?\n- yes",
        "长期记忆：和短期记忆有什么区别？\n- 时间",
    ] {
        assert_eq!(without_injected(text), text);
    }
}
