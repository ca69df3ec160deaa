//! A boxed, shared store behaves like the store itself.

use crate::{World, scenarios};

pub async fn boxed_record_stores_page(world: &World) {
    scenarios::paging::pages_over_equal_times_are_complete_and_disjoint(&world.boxed()).await;
}

pub async fn boxed_job_queues_lease(world: &World) {
    scenarios::job_queue::a_claimed_job_is_hidden_until_its_lease_expires(&world.boxed()).await;
}

pub async fn boxed_keyword_stores_search_and_delete(world: &World) {
    scenarios::keywords::deleted_terms_are_not_found(&world.boxed()).await;
}

pub async fn boxed_vector_stores_search_and_delete(world: &World) {
    let boxed = world.boxed();
    scenarios::vectors::the_store_reports_its_space(&boxed).await;
    scenarios::vectors::deleted_vectors_are_not_found(&boxed).await;
}

pub async fn boxed_synonym_stores_forward_every_call(world: &World) {
    let boxed = world.boxed();
    scenarios::synonyms::remove_matches_equivalent_terms_and_counts_groups(&boxed).await;
    scenarios::synonyms::clear_removes_groups_and_verdicts_in_scope(&boxed).await;
}
