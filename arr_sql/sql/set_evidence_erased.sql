-- Take the forgotten file's name and place out of one returned item; its chunk id and hash stay.
UPDATE retrieval_evidence SET source_ref = :source_ref, locator = :locator WHERE retrieval = :retrieval AND rank = :rank;
