-- ---------------------------------------------------------------------------------------
-- Takes away what is not retained, in small transactions, by one gateway at a time, and
-- never waits for a row: messages below the newest so many of a conversation (0: all are
-- kept), ids of those that are gone, marks, and what is old of the lists.
create or replace function {schema}.gateway_trim(
  conversation_limit integer, retain integer, retain_ids_ms bigint,
  retain_marks_ms bigint, batch integer)
  returns json language plpgsql {volatile} as $$
declare
  c conversations;
  left_over bigint := batch;
  present timestamptz := clock_timestamp();
  count bigint;
  raised bigint;
  seen integer := 0;
  messages_gone bigint := 0;
  marks_gone bigint := 0;
  ids_gone bigint := 0;
  kept_from bigint;
begin
  if conversation_limit is null or retain is null or retain_ids_ms is null
    or retain_marks_ms is null or batch is null
  then
    perform refuse('PG400', 'an argument: NULL (accepted: five numbers)', null);
  end if;
  if not pg_try_advisory_xact_lock(hashtextextended(
    'trim:' || (select id from installation), 0))
  then
    return json_build_object('word', 'busy');
  end if;
  for c in
    select * from conversations
    where retain > 0 and seq - floor + 1 > retain
    order by id limit conversation_limit for no key update skip locked
  loop
    exit when left_over <= 0;
    seen := seen + 1;
    raised := least(c.seq - retain + 1, c.floor + left_over);
    with gone as (
      delete from messages
      where conversation = c.id and seq < raised
      returning conversation, id, seq, first_rev, author, hash, created_at
    ), remembered as (
      insert into trimmed (conversation, id, seq, first_rev, author, hash, created_at)
      select g.conversation, g.id, g.seq, g.first_rev, g.author, g.hash, g.created_at
      from gone g
      where g.created_at >= present - retain_ids_ms * interval '1 millisecond'
      on conflict do nothing
    ) select count(*) into count from gone;
    delete from reactions where conversation = c.id and seq < raised;
    delete from mentions where conversation = c.id and seq < raised;
    messages_gone := messages_gone + count;
    left_over := left_over - count;
    delete from trimmed where conversation = c.id and seq < raised - 100000;
    update conversations
      set floor = raised, last_seq = case when last_seq < raised then 0 else last_seq end
      where id = c.id;
  end loop;
  with old as (
    select ctid from trimmed
    where created_at < present - retain_ids_ms * interval '1 millisecond'
    limit greatest(left_over, 0) for update skip locked
  ), gone as (delete from trimmed where ctid in (select ctid from old) returning 1)
  select count(*) into count from gone;
  ids_gone := count;
  left_over := left_over - count;
  if retain_marks_ms > 0 and left_over > 0 then
    for c in
      select * from conversations
      where base < rev and exists (
        select from changes
        where conversation = conversations.id and rev = conversations.base + 1
          and rev < conversations.rev
          and at < present - retain_marks_ms * interval '1 millisecond')
      order by id limit conversation_limit for no key update skip locked
    loop
      exit when left_over <= 0;
      seen := seen + 1;
      -- The newest stays, whatever its age: the head has it.
      select coalesce(max(rev), c.base) into kept_from from (
        select rev from changes
        where conversation = c.id and rev < c.rev and rev <= c.base + left_over
          and at < present - retain_marks_ms * interval '1 millisecond'
        order by rev) as old;
      delete from changes where conversation = c.id and rev <= kept_from;
      get diagnostics count = row_count;
      marks_gone := marks_gone + count;
      left_over := left_over - count;
      update conversations set base = kept_from where id = c.id;
    end loop;
  end if;
  -- A token of a list is good for a day. It names the newest row of then, which stays as
  -- long as none that is newer is as old.
  delete from list_changes where id in (
    select l.id from list_changes l
    where l.at < present - interval '25 hours' and exists (
      select from list_changes newer
      where newer.user_id = l.user_id and newer.id > l.id
        and newer.at < present - interval '25 hours')
    limit greatest(left_over, 0));
  delete from disconnects where at < present - interval '1 hour';
  return json_build_object(
    'word', 'done', 'messages', messages_gone, 'marks', marks_gone, 'ids', ids_gone,
    'more', left_over <= 0 or seen >= conversation_limit);
end
$$;
