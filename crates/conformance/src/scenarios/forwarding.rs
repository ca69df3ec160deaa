//! A box of an arc of a store is that store.

use crate::{World, scenarios};

pub async fn boxed_records_go_round_and_page(world: &World) {
    scenarios::paging::pages_over_equal_times_leave_no_gap_and_repeat_nothing(&world.boxed()).await;
}

pub async fn a_boxed_backlog_leases_and_takes_receipts(world: &World) {
    scenarios::backlog::a_lease_hides_what_was_given_until_it_has_passed(&world.boxed()).await;
}

pub async fn boxed_keywords_are_found_and_deleted(world: &World) {
    scenarios::keywords::deleted_terms_are_not_found(&world.boxed()).await;
}

pub async fn boxed_vectors_are_found_and_deleted(world: &World) {
    let boxed = world.boxed();
    scenarios::vectors::the_space_is_the_one_it_was_opened_with(&boxed).await;
    scenarios::vectors::deleted_vectors_are_not_found(&boxed).await;
}

pub async fn boxed_synonyms_are_kept_judged_and_removed(world: &World) {
    let boxed = world.boxed();
    scenarios::synonyms::removing_goes_by_how_a_term_reads_and_counts_what_was_there(&boxed).await;
    scenarios::synonyms::clearing_takes_everything_within_the_scope_and_nothing_else(&boxed).await;
}
