//! Boosts: factors of a score that do not depend on the text of a record. They never filter.

use memory_engine_core::{Record, text};
use memory_engine_scene::ScenePolicy;

use crate::{hit::Boost, plan::Plan};

/// The boosts of one recall.
#[derive(Debug)]
pub(crate) struct Boosts<'a> {
    plan: &'a Plan<'a>,
    scenes: &'a ScenePolicy,
}

impl<'a> Boosts<'a> {
    pub(crate) fn new(plan: &'a Plan<'a>, scenes: &'a ScenePolicy) -> Self {
        Self { plan, scenes }
    }

    /// Returns the boosts of a record that differ from 1.
    pub(crate) fn of(&self, record: &Record) -> Vec<Boost> {
        if self.plan.keeps_fused_order() {
            return Vec::new();
        }
        let options = &self.plan.options;
        let scene = self.plan.query.scene.as_ref();
        let scene = scene.map_or(1.0, |current| self.scenes.weight(current, record.scene.as_deref()));
        let by_speaker = self.plan.query.speaker.as_ref().is_some_and(|name| speaks(record, name));
        let factors = [
            ("scene", scene),
            ("confidence", 1.0 - options.confidence_penalty * (1.0 - record.confidence)),
            ("importance", 1.0 + options.importance_weight * (2.0 * record.importance - 1.0)),
            ("age", self.age(record)),
            ("speaker", if by_speaker { options.speaker_boost } else { 1.0 }),
        ];
        factors.into_iter().filter(|(_, factor)| *factor != 1.0).map(|(of, factor)| Boost { of, factor }).collect()
    }

    /// Decays from 1 at the time of the query to `oldest`: half of the way in each half-life.
    fn age(&self, record: &Record) -> f64 {
        let options = &self.plan.options;
        if options.min_recency_weight == 1.0 {
            return 1.0;
        }
        let micros = self.plan.asked_at.as_micros().saturating_sub(record.occurred_at.as_micros()).max(0);
        let half_lives = micros as f64 / options.half_life.as_micros().max(1) as f64;
        options.min_recency_weight + (1.0 - options.min_recency_weight) * 0.5_f64.powf(half_lives)
    }
}

fn speaks(record: &Record, name: &str) -> bool {
    record.speaker.as_ref().is_some_and(|speaker| text::normalize(speaker) == text::normalize(name))
}
