//! Random histories: writes, edits, derived records, retractions, restores and deletions.

use std::time::Duration;

use memory_engine::{
    Kind, MemoryEngine, PutMode, Record, RecordId, Role, ScanQuery, Scope, State, SystemClock, Trust,
    synonyms::{SynonymGroup, SynonymStoreExt},
    testing::ManualClock,
};

/// Texts of which several records have the same, in Chinese and English.
const TEXTS: [&str; 12] = [
    "我住在上海",
    "我住在北京",
    "我对海鲜过敏",
    "她喜欢核桃",
    "周五面试",
    "I live in Porto.",
    "I live in Lisbon.",
    "My sister plays the violin.",
    "The interview moved to Friday.",
    "walnuts on the list",
    "桥烧着了",
    "The bridge is gone.",
];

/// A generator of numbers (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }

    fn text(&mut self) -> String {
        TEXTS[self.below(TEXTS.len())].to_owned()
    }
}

/// The users of the histories, and a tenant without a user.
pub(crate) fn scopes() -> Vec<Scope> {
    let other = Scope::tenant_wide("other").unwrap();
    vec![
        Scope::user("lin").unwrap(),
        Scope::user("mo").unwrap(),
        other.clone(),
        other.with_user("lin").unwrap(),
        Scope::tenant_wide("default").unwrap(),
    ]
}

/// Applies random operations to a store. `origin` names the store that new records come from.
pub(crate) async fn apply(
    engine: &MemoryEngine,
    clock: &ManualClock,
    random: &mut Random,
    origin: &str,
    operations: usize,
) {
    let users = [scopes()[0].clone(), scopes()[1].clone(), scopes()[3].clone()];
    for n in 0..operations {
        clock.advance(Duration::from_millis(1 + random.below(2000) as u64));
        let user = &users[random.below(users.len())];
        let page = engine.scan(user, &ScanQuery::oldest(10_000)).await.unwrap();
        let records: Vec<Record> = page.records.into_iter().filter(|record| !record.kind.is_ledger()).collect();
        let pick = |random: &mut Random| records[random.below(records.len())].clone();
        let operation = if records.is_empty() { 0 } else { random.below(14) };
        match operation {
            0..=2 => {
                let record = new_record(user, random, origin, n, clock);
                engine.store(user, vec![record], PutMode::Create).await.unwrap();
            }
            3 | 4 => {
                let mut record = new_record(user, random, origin, n, clock);
                record.kind = [Kind::FACT, Kind::SUMMARY, Kind::NOTE][random.below(3)].clone();
                record.trust = Trust::Derived;
                record.derived_from = vec![pick(random).id, pick(random).id];
                record.derived_from.dedup();
                engine.store(user, vec![record], PutMode::Create).await.unwrap();
            }
            5 | 6 => {
                let mut record = pick(random);
                record.text = random.text();
                engine.store(user, vec![record], PutMode::Upsert).await.unwrap();
            }
            7 => {
                let mut record = pick(random);
                record.tags = vec![format!("tag {}", random.below(4))];
                record.pinned = random.below(2) == 0;
                engine.store(user, vec![record], PutMode::Upsert).await.unwrap();
            }
            8 => {
                let mut record = pick(random);
                record.state = [State::Active, State::Superseded, State::Deleted][random.below(3)];
                engine.store(user, vec![record], PutMode::Upsert).await.unwrap();
            }
            9 | 10 => {
                let ids = [pick(random).id, pick(random).id];
                engine.history().retract(user, &ids, ["", "wrong"][random.below(2)]).await.unwrap();
            }
            11 => {
                let retractions = engine.history().retractions(user, 100).await.unwrap();
                if !retractions.is_empty() {
                    let retraction = &retractions[random.below(retractions.len())];
                    engine.history().restore(user, retraction.id).await.unwrap();
                }
            }
            12 => {
                engine.forget(user, pick(random).id).await.unwrap();
            }
            _ => words(engine, user, random).await,
        }
    }
}

fn new_record(user: &Scope, random: &mut Random, origin: &str, n: usize, clock: &ManualClock) -> Record {
    let scope = match random.below(3) {
        0 => user.clone(),
        1 => user.clone().with_session("a").unwrap(),
        _ => user.clone().with_agent("kai").unwrap().with_session("b").unwrap(),
    };
    let mut record = Record::new(scope.clone(), Kind::TURN, random.text(), &SystemClock);
    record.id = RecordId::named(&scope, &format!("{origin} {n}"));
    record.occurred_at = memory_engine::Clock::now(clock);
    record.recorded_at = record.occurred_at;
    record.role = Some(Role::USER);
    record.trust = [Trust::User, Trust::Import, Trust::Assistant][random.below(3)];
    record.metadata.insert("n".into(), serde_json::json!({ "π": 1.1, "n": n }));
    record
}

async fn words(engine: &MemoryEngine, user: &Scope, random: &mut Random) {
    let words = ["cat", "猫", "kitty", "tomcat", "猫咪"];
    let store = engine.settings().synonyms().store();
    let (one, other) = (words[random.below(words.len())], words[random.below(words.len())]);
    match random.below(3) {
        0 if one != other => store.reject(user, one, other).await.unwrap(),
        1 if one != other => store.put(user, &[SynonymGroup::new(one, [other])]).await.unwrap(),
        _ => store.put(user, &[SynonymGroup::new("Cat", [words[1 + random.below(4)]])]).await.unwrap(),
    }
}
