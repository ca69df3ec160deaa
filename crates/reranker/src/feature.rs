//! The features that candidates are ranked by.

use std::ops::{Index, IndexMut};

use memory_engine_core::{Error, enum_names};
use serde::{Deserialize, Serialize};

/// One property of a candidate that indicates how well it answers the query.
///
/// The features up to [`Assistant`](Self::Assistant) rank candidates, see [`FeatureWeights`](crate::FeatureWeights).
/// Those after it are not scaled by the best candidate: they decide whether a candidate is relevant at all, see
/// [`RelevanceModel`](crate::RelevanceModel).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Feature {
    /// BM25 score of the query's words and dates, as a share of the best candidate's: 0 to 1.
    Keyword,
    /// As [`Keyword`](Self::Keyword), for the sentence of the query that fits the candidate best.
    KeywordSentence,
    /// Cosine similarity of the vectors of query and candidate, scaled among the candidates: 1 for the best, 0 for the
    /// median, at least −1 ([`position_among`]).
    Vector,
    /// Mean over the query's tokens of the greatest cosine with a token of the candidate's best part, weighted by the
    /// rarity of the query's tokens (MaxSim), scaled as [`Vector`](Self::Vector). [`Keyword`](Self::Keyword) for a
    /// candidate that cannot be compared, because it has no token vectors or is in another language.
    MaxSim,
    /// As [`MaxSim`](Self::MaxSim), for the sentence of the query that fits the candidate best.
    MaxSimSentence,
    /// As [`MaxSim`](Self::MaxSim) with the roles exchanged: mean over the tokens of the candidate's best part of the
    /// greatest cosine with a token of the query.
    MaxSimText,
    /// As [`MaxSimSentence`](Self::MaxSimSentence), by the bundled vectors of words, where
    /// [`MaxSim`](Self::MaxSim) does not use them: for Chinese without a model, and next to the vectors of a model.
    WordMaxSim,
    /// [`WordMaxSim`](Self::WordMaxSim) if the query speaks of the user, else 0.
    WordMaxSimPersonal,
    /// As [`MaxSimText`](Self::MaxSimText), by the bundled vectors of words.
    WordMaxSimText,
    /// Evidence of the better adjacent turn of another speaker: 0 to 1. The evidence of a record is its keyword share,
    /// or with token vectors the mean of that and its [`MaxSim`](Self::MaxSim), if that is positive.
    Neighbor,
    /// Sum of the evidence of the session's other candidates, divided by the greatest sum of a session. Only the
    /// 30 best candidates count. 0 if all are of one session.
    Session,
    /// As [`Session`](Self::Session), for the records of its day in UTC.
    Day,
    /// Keyword share by words and dates minus that by words alone. Negative if other candidates match the dates of the
    /// query.
    DateMatch,
    /// 1 if the query names the speaker of the candidate, −1 if it names another one, 0 if it names none or several.
    Speaker,
    /// 1 if the candidate is short and ends with a question mark.
    QuestionTurn,
    /// 1 if the query asks for a time and the candidate names a date.
    DateAsked,
    /// If the query asks for the present state: the position in time among the candidates that contain nearly as many
    /// of its words as the best one, from −1 for the first to 1 for the last. If it asks for a former state: the
    /// negative of that.
    Validity,
    /// Share of the query's codes that the candidate contains: 0 to 1. A code is a word of letters and digits, or a
    /// number of at least three digits that is no year, without its separators.
    Code,
    /// Evidence of the turn before the candidate, as for [`Neighbor`](Self::Neighbor), if another speaker ended it with
    /// a question: 0 to 1.
    AnswersQuestion,
    /// 1 if the query asks for a number and the candidate names one.
    NumberAsked,
    /// 1 if query and candidate both speak in the first person ("my", 我).
    FirstPerson,
    /// `RecallOptions::assistant_penalty` (0–1) for a message of a model and for a summary, else 0.
    Assistant,
    /// Share of the query's words that the candidate contains, weighted by idf among the candidates: 0 to 1.
    WordCoverage,
    /// 1 if the query mentions the user ("my", 我), or if candidates contain every likely name in it: such a query is
    /// seldom about general knowledge. 0 for a query with dialogue.
    Personal,
    /// Share of the likely names in the query that no candidate contains. 0 for a query with dialogue.
    UnknownNames,
    /// Cosine similarity of the vectors of query and candidate, scaled so that 0 is typical of unrelated texts and 1 is
    /// the same text. Negative below that, and 0 if it was not computed.
    Similarity,
    /// [`MaxSim`](Self::MaxSim) as it is, not scaled among the candidates: −1 to 1.
    TokenSimilarity,
}

enum_names! {
    Feature, "ranking feature" {
        Keyword => "keyword",
        KeywordSentence => "keyword_sentence",
        Vector => "vector",
        MaxSim => "max_sim",
        MaxSimSentence => "max_sim_sentence",
        MaxSimText => "max_sim_text",
        WordMaxSim => "word_max_sim",
        WordMaxSimPersonal => "word_max_sim_personal",
        WordMaxSimText => "word_max_sim_text",
        Neighbor => "neighbor",
        Session => "session",
        Day => "day",
        DateMatch => "date_match",
        Speaker => "speaker",
        QuestionTurn => "question_turn",
        DateAsked => "date_asked",
        Validity => "validity",
        Code => "code",
        AnswersQuestion => "answers_question",
        NumberAsked => "number_asked",
        FirstPerson => "first_person",
        Assistant => "assistant",
        WordCoverage => "word_coverage",
        Personal => "personal",
        UnknownNames => "unknown_names",
        Similarity => "similarity",
        TokenSimilarity => "token_similarity",
    }
}

/// The value of each feature of one candidate. A feature that was not computed is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FeatureValues([f64; Feature::ALL.len()]);

impl Index<Feature> for FeatureValues {
    type Output = f64;

    fn index(&self, feature: Feature) -> &f64 {
        &self.0[feature as usize]
    }
}

impl IndexMut<Feature> for FeatureValues {
    fn index_mut(&mut self, feature: Feature) -> &mut f64 {
        &mut self.0[feature as usize]
    }
}

/// Scales values linearly: 1 for the greatest, 0 for the median, at least −1. All are 0 if the greatest is the median.
pub fn position_among(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(best) = sorted.last() else { return Vec::new() };
    let middle = sorted.len() / 2;
    let median =
        if sorted.len().is_multiple_of(2) { (sorted[middle - 1] + sorted[middle]) / 2.0 } else { sorted[middle] };
    let range = best - median;
    let scaled = |value: &f64| if range > 1e-9 { ((value - median) / range).max(-1.0) } else { 0.0 };
    values.iter().map(scaled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_is_relative_to_median_and_best() {
        assert_eq!(position_among(&[1.0, 0.5, 0.75]), [1.0, -1.0, 0.0]);
        assert_eq!(position_among(&[0.25, 0.75]), [-1.0, 1.0]);
        assert_eq!(position_among(&[0.0, 0.5, 0.5, 0.75])[0], -1.0, "not below −1");
        assert_eq!(position_among(&[0.3; 4]), [0.0; 4]);
        assert!(position_among(&[]).is_empty());
    }
}
