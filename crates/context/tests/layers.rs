//! Tests of contexts with layers under one limit.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

use memory_engine_context::{
    Characters, ContextPlan, EstimatedTokens, GatewayBlock, Item, Layer, LeftOutReason, Overflow, TokenCounter,
};
use memory_engine_core::{Kind, ManualClock, Record, Scope, Timestamp};
use proptest::prelude::*;

/// A counter whose count of a text exceeds the sum over its parts.
#[derive(Debug)]
struct SuperadditiveCounter;

impl TokenCounter for SuperadditiveCounter {
    fn name(&self) -> &str {
        "superadditive"
    }
    fn count(&self, text: &str) -> usize {
        text.chars().count() + text.matches('\n').count().pow(2)
    }
}

fn at(n: i64) -> Timestamp {
    Timestamp::from_micros(n)
}

fn messages(texts: &[&str]) -> Vec<Item> {
    texts.iter().zip(0..).map(|(text, n)| Item::new(*text).at(at(n)).with_score(n as f64 % 3.0)).collect()
}

#[test]
fn the_oldest_items_are_dropped_first() {
    let layer = Layer::new("recent", 11).with_heading("# \n").with_items(messages(&["aaa", "bbb", "cc", "dd"]));
    let built = ContextPlan::new(100).with_layer(layer).build(&Characters).unwrap();
    assert_eq!(built.text, "# \ncc\ndd");
    let report = built.layer("recent").unwrap();
    let left_out: Vec<_> = report.left_out.iter().map(|left| (left.place, left.reason)).collect();
    assert_eq!((report.taken, left_out), (2, vec![(0, LeftOutReason::Layer), (1, LeftOutReason::Layer)]));
}

#[test]
fn the_lowest_scores_are_dropped_first() {
    let layer = Layer::new("found", 9).with_overflow(Overflow::DropLowestScore);
    let items = [("low", 0.1), ("mid", 0.5), ("top", 0.9)].map(|(text, score)| Item::new(text).with_score(score));
    let built = ContextPlan::new(100).with_layer(layer.with_items(items)).build(&Characters).unwrap();
    assert_eq!(built.text, "mid\ntop");
}

#[test]
fn an_item_larger_than_its_layer_is_skipped() {
    let layer = Layer::new("recent", 12).with_items(messages(&["a", "b", &"c".repeat(40), "d"]));
    let built = ContextPlan::new(100).with_layer(layer).build(&Characters).unwrap();
    assert_eq!(built.text, "a\nb\nd");
    assert_eq!(built.layers[0].left_out[0].reason, LeftOutReason::TooLarge);
}

#[test]
fn texts_are_cut_after_a_sentence_if_possible() {
    let cut = |budget: usize, text: &str| {
        let plan = ContextPlan::new(1000).with_layer(Layer::text("stage", budget, text));
        let built = plan.build(&Characters).unwrap();
        (built.text.clone(), built.layers[0].cut)
    };
    let chinese = "她开始问为什么。她不懂告别！她会记住的";
    assert_eq!(cut(40, chinese), (chinese.to_owned(), false));
    assert_eq!(cut(16, chinese), ("她开始问为什么。她不懂告别！".to_owned(), true));
    assert_eq!(cut(26, "She costs 3.14. She asks why. And on"), ("She costs 3.14.".to_owned(), true));
    assert_eq!(cut(8, "没有句号的一句很长很长的话"), ("没有句号的一句…".to_owned(), true));
    assert_eq!(cut(1, chinese), (String::new(), false));
}

#[test]
fn a2_unused_tokens_flow_to_the_next_layer() {
    let plan = ContextPlan::new(1000)
        .with_layer(Layer::text("persona", 20, "12345"))
        .with_layer(Layer::new("recent", 2).with_items(messages(&["aaaa", "bbbb", "cccc", "dddd"])));
    let built = plan.build(&Characters).unwrap();
    // 15 unused tokens and 2 of its own: enough for three items with two line breaks.
    assert_eq!((built.layers[1].flowed, built.layers[1].tokens, built.layers[1].taken), (15, 14, 3));
    let tight = ContextPlan::new(14).with_layers(plan.layers().to_vec()).build(&Characters).unwrap();
    assert_eq!((tight.layers[1].taken, tight.layers[1].left_out[0].reason), (1, LeftOutReason::Whole));
}

#[test]
fn higher_priorities_are_filled_first() {
    let layer =
        |name: &str, priority| Layer::new(name, 8).with_priority(priority).with_items([Item::new(name.repeat(2))]);
    let plan = ContextPlan::new(8).with_layer(layer("low", 0)).with_layer(layer("high", 1));
    // Only one of them fits, with the blank line between two.
    let built = plan.build(&EstimatedTokens).unwrap();
    assert_eq!(built.layer("high").unwrap().taken, 1);
    let wide = ContextPlan::new(80).with_layers(plan.layers().to_vec()).build(&EstimatedTokens).unwrap();
    assert_eq!(wide.text, "lowlow\n\nhighhigh");
}

#[test]
fn a2_layers_that_are_never_cut_are_complete_or_the_build_fails() {
    let persona = Layer::text("persona", 1, "she is kind").with_overflow(Overflow::NeverCut);
    let other = Layer::new("recent", 50).with_priority(9).with_items(messages(&["hello"]));
    let plan = |limit| ContextPlan::new(limit).with_layer(other.clone()).with_layer(persona.clone());
    assert_eq!(plan(14).build(&Characters).unwrap().text, "she is kind");
    assert_eq!(plan(40).build(&Characters).unwrap().text, "hello\n\nshe is kind");
    let error = plan(10).build(&Characters).unwrap_err().to_string();
    assert!(error.contains("11 characters, and the limit is 10"), "{error}");
}

#[test]
fn empty_layers_have_no_heading_and_blocks_are_not_cut() {
    let clock = ManualClock::new(at(1_772_400_000_000_000));
    let record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "我对海鲜过敏", &clock);
    let block = GatewayBlock::of_document().render([], [&record]);
    let plan = |budget| {
        ContextPlan::new(1000)
            .with_layer(Layer::new("nothing", 100).with_heading("# Nothing\n"))
            .with_layer(Layer::block("gateway", budget, &block))
    };
    assert_eq!(plan(500).build(&Characters).unwrap().text, block.text);
    assert_eq!(plan(50).build(&Characters).unwrap().layers[1].taken, 1, "unused tokens of the empty layer are added");
    assert_eq!(plan(5).build(&Characters).unwrap().text, "");
}

/// Random layers of every kind.
fn layers() -> impl Strategy<Value = Vec<Layer>> {
    let overflow = prop_oneof![
        4 => Just(Overflow::DropOldest),
        4 => Just(Overflow::DropLowestScore),
        4 => Just(Overflow::TruncateAtSentence),
        1 => Just(Overflow::NeverCut),
    ];
    let text = prop_oneof!["[a-z。. 我你她\n]{0,30}", "\\PC{0,20}"];
    let item = (text, -3_i8..3, 0_i64..4).prop_map(|(t, s, n)| Item::new(t).with_score(f64::from(s)).at(at(n)));
    let layer =
        (overflow, 0_usize..60, -2_i32..3, any::<bool>(), "(# [a-z]{1,4}\n)?", prop::collection::vec(item, 0..8));
    let layer = layer.prop_map(|(overflow, budget, priority, stable, heading, items)| {
        let layer = Layer::new("x", budget).with_overflow(overflow).with_priority(priority);
        let layer = layer.with_heading(heading).with_items(items);
        if stable { layer.stable() } else { layer }
    });
    prop::collection::vec(layer, 0..6)
}

fn check_plan(layers: &[Layer], limit: usize, counter: &dyn TokenCounter) -> Result<(), TestCaseError> {
    let plan = ContextPlan::new(limit).with_layers(layers.to_vec());
    let built = match plan.build(counter) {
        Ok(built) => built,
        Err(_) => {
            let uncut = layers.iter().filter(|layer| layer.overflow == Overflow::NeverCut).cloned();
            let alone = ContextPlan::new(usize::MAX).with_layers(uncut).build(counter).unwrap();
            prop_assert!(alone.tokens > limit, "rejected although the layers that are never cut fit");
            return Ok(());
        }
    };
    prop_assert!(counter.count(&built.text) <= limit, "{} of {limit}", counter.count(&built.text));
    prop_assert_eq!(built.tokens, counter.count(&built.text));
    for (layer, report) in layers.iter().zip(&built.layers) {
        prop_assert_eq!(report.taken + report.left_out.len(), layer.items.len());
        prop_assert!(layer.overflow != Overflow::NeverCut || report.left_out.is_empty());
        prop_assert!(layer.overflow == Overflow::NeverCut || report.tokens <= layer.budget + report.flowed);
    }
    prop_assert_eq!(&plan.build(counter).unwrap(), &built, "the same layers give the same context");
    Ok(())
}

proptest! {
    #[test]
    fn a_context_never_exceeds_its_limit(layers in layers(), limit in 0_usize..160) {
        check_plan(&layers, limit, &Characters)?;
        check_plan(&layers, limit, &EstimatedTokens)?;
        check_plan(&layers, limit, &SuperadditiveCounter)?;
    }

    #[test]
    fn the_stable_prefix_does_not_depend_on_other_layers(
        layers in layers(),
        other in "\\PC{0,40}",
        limit in 0_usize..160,
    ) {
        let layers: Vec<Layer> = layers.into_iter().filter(|layer| layer.overflow != Overflow::NeverCut).collect();
        let mut changed = layers.clone();
        for layer in changed.iter_mut().filter(|layer| !layer.stable) {
            layer.items.push(Item::new(other.clone()).at(at(9)));
        }
        let build = |layers| ContextPlan::new(limit).with_layers(layers).build(&Characters).unwrap();
        let before = build(layers);
        let after = build(changed);
        prop_assert_eq!(before.stable(), after.stable());
    }
}

#[cfg(feature = "bpe")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a2_a_context_never_has_more_than_its_limit_by_a_real_tokenizer(layers in layers(), limit in 0_usize..160) {
        check_plan(&layers, limit, &memory_engine_context::BpeTokens)?;
    }
}

/// Fifty turns of a conversation. Each adds two messages, and every tenth has a related memory.
#[test]
fn the_stable_prefix_is_constant_over_fifty_turns() {
    let persona = Layer::text("persona", 100, "她温柔，好奇。").with_overflow(Overflow::NeverCut).stable();
    let stage = Layer::text("stage", 100, "她开始问为什么。").stable();
    let mut recent: Vec<Item> = Vec::new();
    let mut prefixes = Vec::new();
    for turn in 0..50 {
        recent
            .push(Item::new(format!("用户：第{turn}句话，有长有短{}", "。".repeat(turn % 7))).at(at(2 * turn as i64)));
        recent.push(Item::new("Aicy：嗯嗯").at(at(2 * turn as i64 + 1)));
        let found = (turn % 10 == 9).then(|| Item::new("用户：很久以前说的"));
        let plan = ContextPlan::new(300)
            .with_layer(Layer::new("recent", 200).with_items(recent.clone()))
            .with_layer(persona.clone())
            .with_layer(Layer::new("related", 50).with_items(found))
            .with_layer(stage.clone());
        let built = plan.build(&EstimatedTokens).unwrap();
        assert!(built.tokens <= 300);
        prefixes.push(built.stable().to_owned());
        assert!(built.text.starts_with("她温柔，好奇。\n\n她开始问为什么。\n\n"));
    }
    prefixes.dedup();
    assert_eq!(prefixes, ["她温柔，好奇。\n\n她开始问为什么。"]);
}
