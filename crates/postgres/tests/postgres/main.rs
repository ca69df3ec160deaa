//! Everything that needs a server, against the one that the variable `DATABASE_URL` names (`scripts/with-postgres`
//! provides one). Without it the tests are listed as ignored; where `CONFORMANCE_REQUIRE` names `postgres`, they then
//! fail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod agreement;
mod catalogue;
mod conformance;
mod documents;
mod given;
mod leases;
mod migration;
mod near;
mod server;
mod sharing;

use libtest_mimic::{Arguments, Trial};

/// Makes a trial of each function: a sentence about a database that is its own.
macro_rules! sentences {
    ($available:expr, $module:ident: $($name:ident),* $(,)?) => {
        vec![$(trial(
            concat!(stringify!($module), "::", stringify!($name)),
            $available,
            |database| given::block_on($module::$name(database)),
        )),*]
    };
}

fn trial(name: &str, available: bool, run: impl FnOnce(&given::Database) + Send + 'static) -> Trial {
    let trial = Trial::test(name, move || {
        run(&given::Database::new()?);
        Ok(())
    });
    // The machine of a server that was named explicitly may lack the programs to start another one. A missing server
    // is a different case.
    let missing = given::url().is_none() && given::is_required();
    trial.with_ignored_flag(!available && !missing)
}

fn main() {
    let arguments = Arguments::from_args();
    let url = given::url().is_some();
    // These start servers of their own, and kill them.
    let programs = url && server::is_to_be_had();
    let mut trials = conformance::trials(url);
    trials.extend(sentences!(url, given: a_database_of_a_test_is_its_own));
    trials.extend(sentences!(url, agreement:
        terms_of_every_sort_are_found_as_in_memory,
        a_record_of_very_many_terms_is_found_as_in_memory,
        numbers_in_metadata_compare_as_they_do_in_memory,
    ));
    trials.extend(sentences!(url, leases:
        the_leases_of_a_live_store_hold_and_those_of_a_closed_one_are_free,
        the_leases_of_a_store_whose_process_ended_are_free,
        a_store_that_lost_its_session_claims_with_another_one,
    ));
    trials.extend(sentences!(url, near:
        every_way_to_the_nearest_finds_what_a_plain_look_finds,
        a_vector_goes_with_the_record_that_it_came_with,
        beside_a_second_generation_vectors_that_come_along_are_made_anew,
        a_vector_of_another_length_is_refused_with_its_record,
        an_index_is_made_when_there_are_enough_vectors_for_one,
        vectors_that_are_nearly_alike_are_told_apart_as_a_plain_look_does,
        who_still_asks_in_a_space_that_was_rebuilt_is_told_so,
    ));
    trials.extend(sentences!(url, migration:
        k14_up_data_down_up,
        going_back_before_generations_keeps_the_vectors_that_serve,
        many_who_open_a_new_database_at_once_find_one_schema,
        a_newer_schema_is_refused,
        tables_of_another_application_are_left_alone,
        a_schema_of_its_own_is_made_beside_tables_in_public,
        another_analyzer_or_embedder_is_refused_or_rebuilt,
        vectors_of_any_length_are_found_with_and_without_an_index,
    ));
    trials.extend(sentences!(url, catalogue:
        every_key_holds_the_namespace,
        the_indexes_for_words_vectors_and_spelling_are_used,
        a_search_for_one_user_looks_into_one_partition,
        a_filtered_search_by_the_index_gives_as_many_as_there_are,
        what_is_misspelled_is_found,
    ));
    trials.extend(sentences!(programs, catalogue: every_statement_names_its_namespace));
    trials.extend(sentences!(url, documents:
        e6_events_are_searched_by_vector_as_the_document_says,
        e6_events_are_searched_by_keywords_as_the_document_says,
        a1_k14_records_are_read_under_the_names_of_the_documents,
        k2_k14_synonyms_have_a_table,
    ));
    trials.extend(sentences!(url, sharing:
        each_sees_what_the_other_has_written_and_deleted,
        a_whole_tenant_is_told_from_one_that_comes_later,
        writers_of_several_users_and_of_one_user_all_get_through,
        what_a_killed_worker_had_claimed_is_taken_over,
        a_statement_that_takes_too_long_times_out,
        a_pool_of_the_caller_keeps_its_settings,
        a_write_that_lost_to_a_deadlock_is_run_again,
        a_password_is_never_shown,
    ));
    trials.extend(sentences!(programs, sharing:
        a_server_that_is_killed_loses_nothing_that_was_acknowledged,
        who_asks_one_thing_after_the_other_needs_one_connection,
        a_server_without_tls_is_refused_by_who_requires_it,
        a_replica_answers_reads,
        of_two_routed_servers_one_is_killed_and_the_users_of_the_other_notice_nothing,
    ));
    libtest_mimic::run(&arguments, trials).exit();
}
