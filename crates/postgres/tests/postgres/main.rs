//! The tests that need a server. They use the one that the variable `DATABASE_URL` names; `scripts/with-postgres`
//! starts one. Without a server the tests are ignored, or fail if `CONFORMANCE_REQUIRE` contains `postgres`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod agreement;
mod audit;
mod catalogue;
mod conformance;
mod documents;
mod fixtures;
mod golden;
mod groups;
mod leases;
mod migration;
mod residue;
mod server;
mod sharing;
mod vector_search;

use libtest_mimic::{Arguments, Trial};

/// Returns a trial for each function. Each trial runs on a separate database schema.
macro_rules! trials {
    ($available:expr, $module:ident: $($name:ident),* $(,)?) => {
        vec![$(trial(
            concat!(stringify!($module), "::", stringify!($name)),
            $available,
            |database| fixtures::block_on($module::$name(database)),
        )),*]
    };
}

fn trial(name: &str, available: bool, run: impl FnOnce(&fixtures::Database) + Send + 'static) -> Trial {
    let trial = Trial::test(name, move || {
        run(&fixtures::Database::new()?);
        Ok(())
    });
    // A required server that is missing is a failure. Missing server programs are not: a server that was named
    // explicitly may run on another machine.
    let must_fail = fixtures::url().is_none() && fixtures::is_required();
    trial.with_ignored_flag(!available && !must_fail)
}

fn main() {
    let arguments = Arguments::from_args();
    let has_url = fixtures::url().is_some();
    // Some tests start further servers, and kill them.
    let has_programs = has_url && server::can_start();
    let mut trials = conformance::trials(has_url);
    trials.extend(trials!(has_url, fixtures: test_databases_are_separate));
    trials.extend(trials!(has_url, agreement:
        keyword_hits_equal_those_in_memory,
        the_server_ranks_records_as_in_memory,
        records_with_many_terms_are_found,
        metadata_numbers_compare_as_in_memory,
    ));
    trials.extend(trials!(has_url, audit:
        changed_and_removed_entries_are_found,
        a_log_whose_chain_was_removed_continues_after_its_latest_entry,
        several_stores_continue_one_chain,
    ));
    trials.extend(trials!(has_url, leases:
        closing_a_store_releases_its_leases,
        leases_of_a_dead_process_are_released,
        a_lost_lease_session_is_replaced,
    ));
    trials.extend(trials!(has_url, vector_search:
        every_search_plan_finds_the_nearest_vectors,
        vectors_are_replaced_and_deleted_with_their_records,
        with_a_second_version_supplied_vectors_are_recomputed,
        a_vector_of_wrong_length_is_refused,
        the_index_is_created_with_enough_vectors,
        creating_the_index_disturbs_no_other_store,
        the_index_is_built_in_the_background,
        an_interrupted_build_is_repeated,
        a_bulk_load_updates_the_statistics,
        close_vectors_are_scored_exactly,
        searches_in_a_replaced_space_fail,
    ));
    trials.extend(trials!(has_url, migration:
        k14_up_data_down_up,
        the_views_show_the_serving_vectors,
        concurrent_opens_create_one_schema,
        a_newer_schema_is_refused,
        tables_of_another_application_are_left_alone,
        a_separate_schema_ignores_tables_in_public,
        another_analyzer_or_embedder_is_refused_or_rebuilt,
        vectors_of_any_length_are_found,
    ));
    trials.extend(trials!(has_url, golden:
        golden_files_of_all_schemas_are_read,
    ));
    trials.extend(trials!(has_url, groups:
        wrong_groups_are_reported_and_repaired,
    ));
    trials.extend(trials!(has_url, residue:
        nothing_remains_of_deleted_records,
        an_id_and_a_text_are_found_in_every_table,
        a_table_that_no_version_knows_is_searched,
        rows_without_records_and_copies_of_contents_are_found,
    ));
    trials.extend(trials!(has_url, catalogue:
        every_key_begins_with_the_namespace,
        searches_use_their_indexes,
        a_search_for_one_user_reads_one_partition,
        a_filtered_index_search_returns_enough_hits,
    ));
    trials.extend(trials!(has_programs, catalogue:
        every_statement_is_limited_to_namespaces,
        a_scope_with_uncounted_terms_is_searched_with_one_statement,
    ));
    trials.extend(trials!(has_url, documents:
        e6_events_are_searched_by_vector_as_the_document_says,
        e6_events_are_searched_by_keywords_as_the_document_says,
        a1_k14_records_are_read_under_the_names_of_the_documents,
        k2_k14_synonyms_have_a_table,
        r4_the_tables_of_a_story_are_read_under_the_names_of_its_document,
        k2_synonyms_of_all_users_are_inserted_by_sql,
        sets_of_views_are_installed_and_removed,
        a_restored_database_has_the_views_of_the_backup,
    ));
    trials.extend(trials!(has_url, sharing:
        stores_see_the_writes_of_each_other,
        a_second_tenant_is_detected,
        concurrent_writers_do_not_deadlock,
        new_users_of_concurrent_writers_are_created_once,
        claims_of_a_killed_worker_are_taken_over,
        slow_statements_time_out,
        a_pool_of_the_caller_keeps_its_settings,
        a_deadlocked_write_is_retried,
        a_password_is_never_shown,
    ));
    trials.extend(trials!(has_programs, sharing:
        a_killed_server_keeps_acknowledged_writes,
        sequential_calls_share_one_connection,
        a_server_without_required_tls_is_refused,
        a_replica_answers_reads,
    ));
    libtest_mimic::run(&arguments, trials).exit();
}
