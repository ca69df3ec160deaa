//! The life of a memory on each backend: branches, retractions, deletions, and models that answer or fail.
//!
//! Without the variable `DATABASE_URL` the tests on Postgres are listed as ignored; where `CONFORMANCE_REQUIRE` names
//! `postgres`, they fail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "life/branches.rs"]
mod branches;
#[path = "life/certificate.rs"]
mod certificate;
#[path = "life/deletion.rs"]
mod deletion;
#[path = "life/digest.rs"]
mod digest;
#[allow(dead_code, reason = "each suite needs a part of it")]
#[path = "life/fixtures.rs"]
mod fixtures;
#[path = "life/models.rs"]
mod models;
#[path = "life/profile.rs"]
mod profile;
#[path = "life/recall.rs"]
mod recall;
#[path = "life/reembedding.rs"]
mod reembedding;
#[path = "life/retention.rs"]
mod retention;
#[path = "life/retraction.rs"]
mod retraction;
#[path = "life/review.rs"]
mod review;
#[path = "life/screening.rs"]
mod screening;
#[path = "life/value.rs"]
mod value;

use fixtures::{TestDatabase, trials};
use libtest_mimic::Arguments;

/// A test: its name, and its function, which gets an empty database.
type Test = (&'static str, TestFn);
type TestFn = fn(TestDatabase) -> futures::future::LocalBoxFuture<'static, ()>;

macro_rules! tests {
    ($($module:ident :: $name:ident,)*) => {
        vec![$((concat!(stringify!($module), "::", stringify!($name)), (|test_db| Box::pin($module::$name(test_db))) as TestFn)),*]
    };
}

fn main() {
    let tests: Vec<Test> = tests! {
        branches::r10_branch_sees_parent_up_to_fork_or_nothing,
        branches::r10_branch_visibility_matches_a_model,
        branches::r10_invalid_fork_is_refused,
        certificate::a_deletion_by_id_is_certified,
        certificate::a_deletion_by_filter_and_of_everything_is_certified,
        certificate::a_restored_record_fails_the_verification,
        certificate::a_changed_certificate_fails_the_verification,
        deletion::r9_deleted_records_stay_deleted,
        deletion::forgetting_a_user_deletes_everything,
        deletion::revoked_memory_is_kept,
        deletion::r9_reason_of_a_retraction_goes_with_its_records,
        deletion::r9_an_interrupted_deletion_is_visible_until_it_is_repeated,
        digest::r6_long_turn_is_found_by_chunks,
        digest::r8_entities_are_extracted_in_background,
        digest::m10_newer_fact_supersedes_older_one,
        digest::m10_facts_follow_edits_retraction_and_restore,
        digest::k10_stored_turns_are_enriched_once_afterwards,
        digest::k10_turns_get_topic_entities_and_emotion,
        digest::k10_model_extracts_once_per_batch,
        digest::m10_contradictions_are_resolved,
        digest::k11_summary_covers_exactly_five_rounds,
        digest::r5_summary_is_rebuilt_after_deletion,
        digest::r15_failing_model_falls_back_to_rules,
        digest::r15_failing_item_does_not_block_others,
        screening::derived_records_are_made_from_masked_text,
        screening::a_redaction_includes_derived_records,
        value::records_that_contain_a_text_are_deleted,
        value::a_text_is_searched_for_in_the_scope_alone,
        value::an_interrupted_deletion_by_text_can_be_repeated,
        value::a_text_is_replaced_in_every_record,
        value::an_interrupted_redaction_can_be_repeated,
        value::a_value_that_is_kept_out_does_not_come_back,
        value::a_value_is_kept_out_of_its_scope_alone,
        value::a_redacted_text_does_not_come_back_with_its_message,
        value::a_value_is_kept_out_of_the_writes_of_another_process,
        profile::a4_profile_contains_facts_and_latest_messages,
        profile::a4_profile_is_deleted_with_sources_and_rebuilt,
        profile::a4_model_writes_profile_with_rules_as_fallback,
        profile::a4_no_profile_by_default,
        models::model_makes_labels_facts_summaries_graph_and_rewrite,
        models::r15_unreadable_graph_replies_go_to_dead_letters,
        models::r15_busy_model_is_retried_after_its_delay,
        models::r15_broken_model_falls_back_and_graph_waits,
        models::r15_silent_model_delays_nothing,
        recall::m8_a_topic_finds_what_limits_the_answer,
        recall::an_outdated_statement_comes_after_what_holds_now,
        reembedding::embedder_change_under_load_loses_nothing,
        reembedding::interrupted_fill_continues,
        reembedding::one_process_fills_while_another_serves,
        reembedding::generation_can_be_dropped_or_kept,
        reembedding::failing_embedder_delays_only_new_vectors,
        reembedding::unembeddable_records_block_the_switch_until_accepted,
        retention::no_read_returns_an_expired_record,
        retention::expired_records_are_deleted_with_what_is_derived_from_them,
        retention::an_expiry_without_tombstones_is_not_remembered,
        retention::a_message_that_is_sent_again_keeps_pin_and_expiry,
        retention::chunks_follow_the_expiry_of_their_turn,
        retention::a_pinned_fact_is_not_superseded_by_rules,
        retention::pinned_records_are_part_of_every_context,
        retention::pinned_records_leave_room_for_relevant_ones,
        retention::a_pinned_record_is_no_near_duplicate,
        retention::importance_takes_part_in_ranking,
        retention::recall_leaves_out_what_is_no_longer_valid,
        retention::everything_is_forgotten_with_expired_records,
        retraction::r9_rewound_session_can_be_restored,
        retraction::r9_rewind_includes_derived_records,
        retraction::r11_retraction_includes_derived_records,
        retraction::r11_resent_message_stays_retracted,
        retraction::r9_text_equal_to_a_deleted_one_can_be_retracted,
        retraction::r9_restore_keeps_later_changes,
        review::facts_count_after_they_are_accepted,
        review::an_accepted_fact_supersedes_and_a_pending_one_does_not,
        review::a_rejected_fact_stays_rejected_until_it_is_restored,
        review::a_rejected_source_stores_nothing,
        review::an_edited_fact_counts_with_its_new_value,
        review::pending_facts_follow_their_turn,
        review::summaries_wait_and_are_not_written_twice,
        review::an_accepted_profile_replaces_the_former_one,
        review::imports_wait_and_can_be_repeated,
        review::statements_of_tools_wait,
        review::a_review_reaches_only_its_scope,
        review::filters_restrict_the_list,
        review::two_reviewers_decide_once,
        review::a_forgotten_text_is_not_accepted,
        review::model_facts_have_a_mode_of_their_own,
    };
    libtest_mimic::run(&Arguments::from_args(), trials(&tests)).exit();
}
