//! The scenarios: each a sentence, and a function that panics when it is not true of a world.
#![allow(missing_docs, reason = "the name of a scenario says what it asserts")]

pub mod adjacency;
pub mod backlog;
pub mod concurrency;
pub mod derivations;
pub mod failures;
pub mod filter;
pub mod forwarding;
pub mod generations;
pub mod graph;
pub mod isolation;
pub mod keyword_scores;
pub mod keywords;
pub mod ledger;
pub mod model;
pub mod one_database;
pub mod paging;
pub mod put_modes;
pub mod records;
pub mod round_trip;
pub mod synonyms;
pub mod tombstones;
pub mod vectors;

/// Hands the names of all scenarios, by group, to another macro of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! each_scenario {
    ($then:ident $arguments:tt) => {
        $crate::$then! {
            $arguments
            records {
                a_new_record_gets_revision_one_and_waits_for_both_jobs,
                records_are_got_in_the_order_asked_with_gaps_where_there_is_none,
                calls_about_nothing_do_nothing,
                a_bad_record_in_the_middle_leaves_nothing,
                records_that_no_store_could_keep_are_refused,
                an_address_outside_the_scope_is_unauthorized_and_leaves_nothing,
                a_wider_scope_writes_and_reads_below_itself,
                the_same_id_under_two_users_is_two_records,
                a_record_in_another_scope_looks_like_not_existing,
                names_that_look_alike_are_different_scopes,
                dimensions_do_not_run_into_each_other,
                deleting_gives_the_ids_that_were_there,
                two_thousand_records_fit_in_one_call,
                a_limit_may_be_as_large_as_there_are_numbers,
                stats_count_what_lies_within_the_scope,
            }
            round_trip {
                r4_every_field_comes_back,
                fields_that_are_not_set_stay_so,
                an_empty_text_in_a_field_is_not_a_missing_one,
                odd_characters_come_back_from_every_text_field,
                odd_names_come_back_from_every_dimension_of_an_address,
                every_trust_and_state_comes_back,
                extreme_numbers_and_times_come_back,
                metadata_of_every_json_type_come_back,
                numbers_in_metadata_come_back_as_they_were,
                the_longest_text_and_the_largest_metadata_come_back,
            }
            put_modes {
                an_upsert_takes_the_place_and_keeps_the_time_of_the_first_recording,
                an_upsert_of_the_same_content_changes_nothing,
                if_absent_writes_what_is_not_there_and_leaves_what_is,
                create_writes_what_is_not_there_and_conflicts_with_what_is,
                an_update_at_the_revision_that_was_read_succeeds_and_at_another_conflicts,
                an_update_of_what_is_not_there_is_not_found,
                the_later_write_of_a_batch_sees_what_the_earlier_did,
                a_conflict_late_in_a_batch_undoes_the_earlier_writes,
                a_record_cannot_move_to_another_address_of_its_user,
                a_change_of_text_speaker_or_role_queues_the_record_again,
                a_change_of_anything_else_updates_without_queueing,
                a_record_that_is_not_active_is_kept_and_not_queued,
            }
            paging {
                both_orders_go_by_time_then_sequence_then_id,
                pages_over_equal_times_leave_no_gap_and_repeat_nothing,
                a_limit_of_zero_gives_an_empty_page,
                a_last_page_that_is_just_full_is_known_to_be_the_last,
                a_page_may_begin_behind_others_and_tell_how_many_there_are,
                a_filter_narrows_the_walk_without_shortening_its_pages,
                a_cursor_outlives_the_record_it_was_made_of,
                pages_stay_within_the_scope_and_cross_its_addresses,
                records_of_every_state_are_walked,
                a_senseless_filter_is_refused_by_a_scan,
            }
            adjacency {
                neighbours_are_those_right_before_and_after,
                neighbours_of_one_time_go_by_sequence_then_by_id,
                neighbours_live_at_the_very_same_address,
                neighbours_are_active,
                a_deleted_record_leaves_no_gap,
                a_record_that_occurred_at_another_time_after_all_moves,
                a_neighbour_who_speaks_in_another_role_or_by_another_name_is_another_voice,
            }
            tombstones {
                a_deleted_record_leaves_a_tombstone_and_nothing_it_said,
                a_tombstone_bars_its_id_for_every_trust_and_mode,
                a_tombstone_bars_its_content_for_imports_and_derivations_only,
                content_that_reads_the_same_is_barred,
                content_is_barred_for_one_user_at_all_addresses,
                a_barred_write_does_not_keep_the_others_of_its_batch_away,
                tombstones_are_paged_by_id,
                tombstones_are_seen_only_within_the_scope_of_what_was_deleted,
                burying_removes_what_is_there_bars_it_and_counts_what_is_new,
                a_deletion_carries_over_to_another_store,
                a_tombstone_of_a_record_at_another_address_is_left_out,
                deleting_for_several_users_goes_for_all_records_of_the_id,
                an_import_cannot_be_rewritten_into_what_was_deleted,
                burying_outside_the_scope_is_refused_whole,
            }
            backlog {
                what_waited_longest_is_given_first_and_whole,
                a_lease_hides_what_was_given_until_it_has_passed,
                what_is_released_is_free_at_once,
                a_lease_of_zero_only_looks,
                acknowledging_takes_one_job_off_and_only_that,
                a_receipt_for_what_was_written_since_is_stale_and_leaves_it_waiting,
                a_receipt_for_what_was_deleted_is_stale,
                receipts_are_answered_one_by_one_across_users,
                what_changed_while_it_waited_is_given_as_it_is_now,
                a_change_of_metadata_does_not_queue_what_is_done,
                a_record_that_is_no_longer_active_leaves_the_queue_and_comes_back_with_its_state,
                requeueing_queues_every_active_record_within_the_scope_for_one_job,
                what_is_queued_anew_while_it_is_done_stays_queued,
                enqueueing_queues_those_that_are_named_and_within_the_scope,
                one_backlog_serves_all_tenants,
                what_waits_says_since_when_and_begins_anew_when_it_is_queued_again,
                a_lease_that_is_renewed_holds_until_then_and_only_for_what_was_claimed,
            }
            keywords {
                a_record_is_found_by_any_of_its_terms_and_by_no_other,
                a_query_without_terms_finds_nothing,
                terms_of_odd_characters_are_terms_and_no_query_language,
                a_long_term_is_a_term,
                a_thousand_clauses_are_searched,
                equal_scores_go_by_id_and_the_limit_holds,
                new_terms_take_the_place_of_old_ones,
                deleted_terms_are_not_found,
                indexed_terms_are_returned_by_record,
                a_record_outside_the_scope_is_unauthorized_and_none_of_its_batch_is_kept,
                words_are_found_only_within_the_scope,
                a_senseless_filter_is_refused_by_a_search_for_words,
                terms_that_come_with_a_record_are_indexed_or_queued,
                a_late_entry_of_a_deleted_record_does_not_come_back,
            }
            keyword_scores {
                scores_are_those_of_the_formula,
                scores_are_those_worked_by_hand,
                statistics_are_those_of_the_searched_scope,
                nobodys_score_depends_on_what_others_have_stored,
                a_group_counts_once_by_the_sum_of_its_weighted_terms,
                one_term_in_two_clauses_counts_in_both,
                a_filter_narrows_what_is_found_and_leaves_the_scores,
                scores_follow_what_was_replaced_and_deleted,
                records_without_an_entry_are_not_counted_and_those_without_terms_are,
            }
            vectors {
                the_space_is_the_one_it_was_opened_with,
                scores_are_cosines_best_first,
                the_length_of_a_vector_does_not_matter,
                a_search_finds_what_an_exact_one_finds,
                equal_scores_go_by_id_and_the_limit_of_nearest_ones_holds,
                a_filter_that_keeps_few_still_gives_as_many_as_there_are,
                a_small_scope_among_many_vectors_gives_all_of_its_own,
                a_new_vector_takes_the_place_of_the_old_one,
                deleted_vectors_are_not_found,
                a_vector_of_another_length_is_refused_with_its_batch,
                a_vector_outside_the_scope_is_unauthorized_and_none_of_its_batch_is_kept,
                vectors_are_found_only_within_the_scope,
                a_senseless_filter_is_refused_by_a_search_for_vectors,
                a_late_vector_of_a_deleted_record_does_not_come_back,
            }
            generations {
                a_second_generation_is_filled_beside_the_one_that_serves_and_takes_its_place,
                a_second_generation_that_is_dropped_leaves_nothing_and_makes_room_for_another,
                a_second_generation_that_is_begun_again_goes_on_and_may_lack_what_was_given_up,
            }
            synonyms {
                groups_come_back_in_the_order_of_their_terms,
                a_group_takes_the_place_of_the_one_whose_term_reads_the_same,
                a_bad_group_keeps_its_whole_batch_away,
                removing_goes_by_how_a_term_reads_and_counts_what_was_there,
                odd_words_come_back,
                users_and_their_tenant_have_groups_of_their_own,
                narrower_scopes_mean_their_user,
                verdicts_are_remembered_until_another_one_comes,
                clearing_takes_everything_within_the_scope_and_nothing_else,
                calls_about_no_synonyms_do_nothing,
            }
            derivations {
                it_is_known_what_was_made_from_a_record_and_through_others,
                sources_may_be_named_before_they_are_there_and_changed,
                what_was_made_from_a_deleted_record_goes_with_it,
                a_deletion_of_several_counts_what_was_there_whatever_was_made_from_what,
                what_was_made_from_a_buried_record_goes_with_it,
                what_was_made_from_a_text_that_is_replaced_goes_with_it,
                what_the_same_batch_writes_stays,
                what_was_withdrawn_is_derived_again_and_not_imported,
                what_else_it_was_made_from_is_looked_at_again,
                nothing_is_made_from_what_has_changed_or_gone,
                what_goes_leaves_the_indexes_of_its_database,
            }
            failures {
                jobs_are_queued_for_what_is_new_or_says_something_else,
                what_failed_is_left_alone_until_its_time,
                what_was_given_up_is_told_and_counted_apart,
                a_failure_of_what_has_changed_or_gone_says_nothing,
            }
            ledger {
                entries_are_kept_and_wait_for_no_index,
                a_record_that_becomes_an_entry_leaves_the_indexes_and_the_queue,
            }
            graph {
                what_a_record_says_is_found_with_the_record_as_evidence,
                a_relation_comes_back_with_its_rules,
                the_same_again_changes_nothing_and_something_else_takes_its_place,
                an_edge_goes_with_its_last_evidence_and_an_entity_too,
                a_reader_sees_what_the_records_within_the_scope_say,
                users_of_one_tenant_stay_apart_when_all_are_looked_at,
                a_filter_shows_an_inherited_branch_up_to_the_fork,
                other_names_of_one_are_put_together,
                a_name_that_several_are_called_by_means_each_and_makes_them_not_one,
                a_walk_goes_as_far_as_it_is_told,
                limits_keep_what_most_records_say,
                relations_hold_while_they_are_valid,
                a_bad_entry_keeps_its_whole_batch_away,
                odd_names_come_back,
                clearing_takes_what_the_records_within_the_scope_say,
                a_deletion_says_how_much_it_removed_where,
                in_one_database_it_goes_with_its_record_and_does_not_come_back,
                a_boxed_graph_is_kept_walked_and_cleared,
                walks_find_what_a_plain_model_finds,
            }
            one_database {
                deleting_a_record_takes_its_terms_and_its_vector_along,
                burying_a_record_takes_its_terms_and_its_vector_along,
                a_record_that_is_no_longer_active_leaves_the_indexes,
                entries_of_records_that_are_gone_are_not_taken,
                entries_of_records_that_are_not_active_are_not_taken,
                entries_of_what_was_written_again_since_are_not_taken,
                an_entry_that_is_not_taken_does_not_keep_the_others_of_its_batch_away,
                terms_that_come_with_a_record_are_found_at_once,
                terms_of_a_batch_that_fails_are_not_kept,
                filters_see_the_record_as_it_is_now,
                a_filter_that_was_used_before_sees_later_writes,
            }
            concurrency {
                of_many_who_create_one_record_one_does,
                of_many_who_update_one_revision_one_does,
                many_who_import_one_record_make_one,
                a_batch_that_fails_beside_others_takes_none_of_them_along,
                workers_who_claim_at_once_are_given_different_records,
                a_write_that_was_answered_is_seen_by_every_later_call,
                a_write_that_is_given_up_is_done_or_undone_and_never_half,
            }
            filter {
                random_filters_keep_what_matches_in_scans_and_searches,
                the_negation_of_a_condition_on_a_missing_field_is_true,
                conditions_over_nothing_are_true_for_and_and_false_for_the_others,
                types_of_json_do_not_mix,
                whole_numbers_are_compared_as_floating_point_ones,
                texts_are_compared_byte_by_byte,
                the_deepest_and_the_widest_filter_are_understood,
                a_filter_and_a_scope_both_hold,
            }
            isolation {
                every_answer_holds_what_the_scope_covers_and_nothing_else,
            }
            model {
                it_answers_as_the_store_in_memory_does,
                it_answers_alike_behind_an_arc_in_a_box,
            }
            forwarding {
                boxed_records_go_round_and_page,
                a_boxed_backlog_leases_and_takes_receipts,
                boxed_keywords_are_found_and_deleted,
                boxed_vectors_are_found_and_deleted,
                boxed_synonyms_are_kept_judged_and_removed,
            }
        }
    };
}
