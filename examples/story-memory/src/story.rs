//! The script of the story.

/// One round: the intervention of the user, and the message of the model.
pub(crate) struct Tick {
    pub(crate) sequence: i64,
    pub(crate) pending: &'static [&'static str],
    pub(crate) report: &'static str,
}

const fn tick(sequence: i64, pending: &'static [&'static str], report: &'static str) -> Tick {
    Tick { sequence, pending, report }
}

pub(crate) const WORLD: &str = "A coast of small harbours. 落霞山 lies behind the village 青石村.";

/// The last message that the other branch inherits.
pub(crate) const FORK: i64 = 4;
/// Texts of the messages before the fork, after it, and in the deleted tick.
pub(crate) const INHERITED: &str = "金钥匙藏在了落霞山";
pub(crate) const FOREIGN: &str = "burned";
pub(crate) const DELETED: &str = "drowned";

pub(crate) const MAIN: &[Tick] = &[
    tick(1, &[], "Captain Holt sailed the Sea Hawk into the fog off Grey Harbour."),
    tick(2, &["林晓月不要把钥匙带在身上。"], "林晓月把金钥匙藏在了落霞山的石碑下面。"),
    tick(3, &[], "The harbour master closed the gates at dusk, and nobody was let in."),
    tick(4, &[], "村里的人开始准备过冬的粮食。"),
    tick(5, &["Somebody takes revenge on Captain Holt."], "At night Captain Holt's Sea Hawk was burned at the quay."),
    tick(6, &[], "Snow fell on the roofs of the village."),
    tick(7, &["林晓月回到落霞山去取金钥匙。"], "石碑下面什么也没有，林晓月在雪里坐了很久。"),
    tick(8, &["Captain Holt looks for his ship, the Sea Hawk."], "Captain Holt drowned in the harbour."),
];

/// The tick on the branch that is forked at [`FORK`].
pub(crate) const MERCY: Tick =
    tick(5, &["林晓月去落霞山取金钥匙。", "Captain Holt sails the Sea Hawk again."], "林晓月打开了石门，放船长出来。");

/// The tick that replaces the deleted last one.
pub(crate) const REPLACED_TICK: Tick =
    tick(9, &["Captain Holt stands in the harbour."], "Captain Holt stood at the quay and said nothing.");
