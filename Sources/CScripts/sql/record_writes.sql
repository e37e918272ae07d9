-- Tells the lists of some people that a conversation came into them, or left them.
create or replace function {schema}.tell_lists(
  p_conversation text, p_users text[], p_is_in boolean)
  returns void language sql {volatile} as $$
  insert into list_changes (user_id, conversation, is_in, mark)
  select user_id, p_conversation, p_is_in, new_mark() from unnest(p_users) as t(user_id)
$$;

-- The conversation with the number of those who are there, for who names them all.
create or replace function {schema}.counted(c {schema}.conversations)
  returns {schema}.conversations language plpgsql {stable} as $$
begin
  select count(*) into c.participants from members where conversation = c.id;
  return c;
end
$$;

-- Writes slot 0 as the arguments say: one change. Who is written (user, admin, name,
-- metadata, unknown) and takes part already keeps the place; all others join behind.
create or replace function {schema}.write_record(
  c {schema}.conversations, p_title text, p_metadata json, p_unknown json,
  p_written json, p_leaving text[], p_created_by text, p_people bytea)
  returns {schema}.conversations language plpgsql {volatile} as $$
declare
  present timestamptz :=
    greatest(date_trunc('milliseconds', clock_timestamp()), c.updated_at);
  gone text[];
  known text[];
  joined text[];
begin
  c.rev := c.rev + 1;
  c.mark := new_mark();
  -- First, since whoever leaves may come back with the same call.
  with left_now as (
    delete from members where conversation = c.id and user_id = any (p_leaving)
    returning user_id
  ) select coalesce(array_agg(user_id), '{}') into gone from left_now;
  -- Whoever joins has read nothing but what they wrote.
  delete from reads where conversation = c.id and user_id = any (gone);
  -- Each is looked up by itself, however many take part.
  known := array(
    select user_id from members where conversation = c.id and user_id = any (array(
      select value ->> 'user' from json_array_elements(coalesce(p_written, '[]')))));
  with written as (
    select distinct on (value ->> 'user') value ->> 'user' as user_id,
      coalesce((value ->> 'admin')::boolean, false) as is_admin,
      value ->> 'name' as name, value -> 'metadata' as metadata,
      value -> 'unknown' as unknown, n
    from json_array_elements(coalesce(p_written, '[]')) with ordinality as w(value, n)
    order by value ->> 'user', n desc
  ), changed as (
    update members m
    set is_admin = w.is_admin, name = w.name,
      metadata = case when json_typeof(w.metadata) <> 'null' then w.metadata end,
      unknown = case when json_typeof(w.unknown) = 'object' then w.unknown else '{}' end,
      updated_at = present
    from written w
    where m.conversation = c.id and m.user_id = any (known)
      and m.user_id = w.user_id
    returning m.user_id
  ), inserted as (
    insert into members (
      conversation, user_id, place, is_admin, name, metadata, unknown, created_at,
      updated_at, joined_seq)
    select c.id, w.user_id, c.joins + row_number() over (order by w.n), w.is_admin, w.name,
      case when json_typeof(w.metadata) <> 'null' then w.metadata end,
      case when json_typeof(w.unknown) = 'object' then w.unknown else '{}' end,
      present, present, c.seq
    from written w
    where not exists (select from unnest(known) u where u = w.user_id)
    returning user_id, place
  ) select coalesce(array_agg(user_id order by place), '{}') into joined from inserted;
  insert into changes (conversation, rev, mark, slot, at, joined, gone)
    values (c.id, c.rev, c.mark, 0, present, joined, gone);
  c.joins := c.joins + cardinality(joined);
  c.participants := c.participants - cardinality(gone) + cardinality(joined);
  select count(*) into c.admins from members where conversation = c.id and is_admin;
  c.title := p_title;
  c.metadata := coalesce(p_metadata, '{}');
  c.unknown := coalesce(p_unknown, '{}');
  c.updated_at := present;
  if c.rev = 1 then c.created_at := present; end if;
  c.activity := greatest(c.activity, present);
  c.record_rev := c.rev;
  c.created_by := coalesce(p_created_by, c.created_by);
  c.people := coalesce(p_people, c.people);
  update conversations
    set rev = c.rev, mark = c.mark, record_rev = c.record_rev, title = c.title,
      metadata = c.metadata, unknown = c.unknown, created_at = c.created_at,
      updated_at = c.updated_at,
      activity = c.activity, created_by = c.created_by, people = c.people,
      participants = c.participants, admins = c.admins, joins = c.joins
    where id = c.id;
  perform tell_lists(c.id, gone, false);
  perform tell_lists(c.id, joined, true);
  perform ring(c.id);
  return c;
end
$$;

-- Removes a log with all that belongs to it.
create or replace function {schema}.remove_log(c {schema}.conversations)
  returns void language plpgsql {volatile} as $$
begin
  perform tell_lists(c.id, array(
    select user_id from members where conversation = c.id order by place), false);
  delete from members where conversation = c.id;
  delete from messages where conversation = c.id;
  delete from reactions where conversation = c.id;
  delete from mentions where conversation = c.id;
  delete from changes where conversation = c.id;
  delete from reads where conversation = c.id;
  delete from authors where conversation = c.id;
  delete from trimmed where conversation = c.id;
  delete from distincts where people = c.people and conversation = c.id;
  delete from conversations where id = c.id;
  perform ring(c.id);
end
$$;
