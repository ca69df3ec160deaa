//! The life of a memory, on each backend: branches, what is taken back, what is deleted, models that answer or do not.
//!
//! Without the variable `DATABASE_URL` the tests on Postgres are listed as ignored; where `CONFORMANCE_REQUIRE` names
//! `postgres`, they fail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "life/branches.rs"]
mod branches;
#[path = "life/deletion.rs"]
mod deletion;
#[path = "life/digest.rs"]
mod digest;
#[allow(dead_code, reason = "each suite needs a part of it")]
#[path = "life/given.rs"]
mod given;
#[path = "life/models.rs"]
mod models;
#[path = "life/profile.rs"]
mod profile;
#[path = "life/reembedding.rs"]
mod reembedding;
#[path = "life/retraction.rs"]
mod retraction;

use given::{Place, trials};
use libtest_mimic::Arguments;

/// A test: its name, and what it does in a place where nothing is yet.
type Test = (&'static str, Play);
type Play = fn(Place) -> futures::future::LocalBoxFuture<'static, ()>;

macro_rules! tests {
    ($($module:ident :: $name:ident,)*) => {
        vec![$((concat!(stringify!($module), "::", stringify!($name)), (|place| Box::pin($module::$name(place))) as Play)),*]
    };
}

fn main() {
    let tests: Vec<Test> = tests! {
        branches::r10_a_branch_sees_its_parent_up_to_the_fork_or_nothing,
        branches::r10_what_branches_see_is_what_a_plain_tree_says,
        branches::r10_a_fork_that_makes_no_sense_is_refused,
        deletion::r9_what_was_deleted_stays_deleted_through_everything_that_could_bring_it_back,
        deletion::a_user_who_leaves_leaves_nothing_behind,
        deletion::a_revoked_memory_is_kept_and_says_so,
        digest::r6_a_long_turn_is_found_by_its_parts_which_cite_it,
        digest::r8_entities_are_read_in_the_background_and_their_records_found,
        digest::m10_a_newer_fact_takes_the_place_of_an_older_one_and_shows_until_when_it_held,
        digest::m10_facts_follow_their_message_when_it_is_edited_taken_back_and_brought_back,
        digest::k10_what_was_stored_without_a_digest_is_digested_afterwards_and_only_once,
        digest::k10_turns_get_topic_entities_and_emotion_in_the_background,
        digest::k10_a_model_does_what_the_rules_would_and_is_asked_once_for_each_batch,
        digest::m10_contradictions_end_as_people_mean_them,
        digest::k11_a_summary_follows_every_five_rounds_and_covers_them_exactly,
        digest::r5_a_summary_is_withdrawn_with_a_turn_that_it_covers_and_made_anew,
        digest::r15_a_model_that_fails_leaves_the_rules_and_nothing_waits,
        digest::r15_what_fails_by_itself_is_given_up_and_told_and_the_others_go_on,
        profile::a4_one_profile_is_kept_of_facts_and_the_latest_messages,
        profile::a4_a_profile_goes_with_what_it_was_made_from_and_is_made_anew,
        profile::a4_a_model_writes_the_profile_and_where_it_fails_the_rules_do,
        profile::a4_without_a_word_about_it_no_profile_is_kept,
        models::a_model_that_answers_makes_labels_facts_summaries_a_graph_and_a_better_question,
        models::r15_a_model_that_answers_nonsense_is_given_up_for_the_graph_and_told,
        models::r15_a_model_that_is_busy_is_asked_again_when_it_says,
        models::r15_a_model_that_is_broken_leaves_the_rules_and_the_graph_waits,
        models::r15_a_model_that_is_silent_holds_nobody_up,
        reembedding::a2_the_embedder_is_changed_under_load_and_nothing_is_lost_or_empty,
        reembedding::a2_a_fill_that_is_broken_off_goes_on_where_it_was,
        reembedding::a2_one_process_fills_while_another_serves_and_that_one_is_told_when_its_vectors_are_gone,
        reembedding::a2_a_generation_is_given_up_or_kept_to_switch_back,
        reembedding::a2_an_embedder_that_fails_holds_up_the_new_vectors_and_not_the_old,
        reembedding::a2_what_cannot_be_embedded_keeps_the_old_vectors_until_that_is_accepted,
        retraction::r9_a_rewound_conversation_is_not_recalled_and_can_be_brought_back,
        retraction::r9_the_last_turn_goes_with_what_was_made_from_it,
        retraction::r11_a_wrong_memory_is_taken_back_with_all_that_came_from_it,
        retraction::r11_a_message_that_is_sent_again_keeps_what_was_found_out_and_stays_taken_back,
        retraction::r9_what_reads_like_something_deleted_can_be_taken_back,
        retraction::r9_what_was_changed_after_it_was_taken_back_stays_as_it_is,
    };
    libtest_mimic::run(&Arguments::from_args(), trials(&tests)).exit();
}
