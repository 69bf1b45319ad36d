-- Every file that was ever taken in, to compare with the events that vouch for them.
SELECT o.id AS id, o.scope_id AS scope_id, o.root_id AS root_id, o.created_at AS created_at FROM source AS o ORDER BY o.id;
