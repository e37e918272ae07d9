-- ---------------------------------------------------------------------------------------
-- For applications, in their own transactions.

-- Changes slot 0 of a locked conversation by the fields that are given, and by who is to
-- join or to leave (unless all who take part are given), and answers with the conversation;
-- for a new one (no change yet) all others are empty. Of those who take part only they are
-- looked at, and the admins.
create or replace function {schema}.change_record(
  c {schema}.conversations, p_changes jsonb, p_join text[], p_leave text[])
  returns {schema}.conversations language plpgsql {volatile} as $$
declare
  is_new boolean := c.rev = 0;
  title text := case when p_changes ? 'title' then p_changes ->> 'title' else c.title end;
  metadata json := coalesce((p_changes -> 'metadata')::json, c.metadata);
  unknown json :=
    merged(c.unknown, unknown_of(p_changes, known_in_conversation())::json);
  if_rev bigint := integer_of(p_changes, 'ifRev', 0, 9007199254740991);
  wanted text[] := ids_of(p_changes, 'participants');
  rulers text[] := ids_of(p_changes, 'admins');
  admins text[] := array(select user_id from members where conversation = c.id and is_admin
    order by place);
  stored bigint := c.participants;
  leaving text[];
  present text[];
  joining text[];
  ruling text[];
  changed text[];
  written json;
begin
  if wanted is not null then
    c := counted(c);
    leaving := array(
      select user_id from members m where conversation = c.id
        and not exists (select from unnest(wanted) u where u = m.user_id));
  else
    leaving := array(
      select user_id from members where conversation = c.id and user_id = any (p_leave));
  end if;
  present := array(
    select user_id from members
    where conversation = c.id and user_id = any (coalesce(wanted, p_join)));
  joining := array(
    select u from unnest(coalesce(wanted, p_join)) with ordinality as t(u, n)
    where not exists (select from unnest(present) p where p = u)
    group by u order by min(n));
  if rulers is null then
    ruling := array(select u from unnest(admins) u where u <> all (leaving));
  else
    ruling := array(select distinct u from unnest(rulers) u);
    if exists (
      select u from unnest(ruling) u except (
        select unnest(joining) union all (
          select user_id from members
            where conversation = c.id and user_id = any (ruling)
          except select unnest(leaving))))
    then
      perform refuse('PG400', 'admins: not a participant'
        ' (accepted: those who take part in the conversation)', null);
    end if;
  end if;
  perform hold('limits.participants',
    c.participants - cardinality(leaving) + cardinality(joining), c.participants,
    'participants: would be %s');
  perform hold('limits.admins', cardinality(ruling), cardinality(admins),
    'admins: would be %s');
  if not is_new and title is not distinct from c.title
    and metadata::jsonb::text = c.metadata::jsonb::text
    and unknown::jsonb::text = c.unknown::jsonb::text
    and leaving = '{}' and joining = '{}' and c.participants = stored
    and ruling @> admins and admins @> ruling
  then
    return c;
  end if;
  if if_rev is not null and if_rev <> c.record_rev then
    perform refuse('PG409', format(
        'ifRev: %s, but the conversation has rev %s', if_rev, c.record_rev),
      jsonb_build_object('conversation', jsonb_build_object('rev', c.record_rev)));
  end if;
  if is_new or title is distinct from c.title
    or metadata::jsonb::text <> c.metadata::jsonb::text
    or unknown::jsonb::text <> c.unknown::jsonb::text
  then
    perform hold('limits.record',
      coalesce(octet_length(title), 0) + size_of_metadata(metadata)
        + size_of_unknown(unknown),
      coalesce(octet_length(c.title), 0) + size_of_metadata(c.metadata)
        + size_of_unknown(c.unknown),
      'conversation: would be %s bytes of title, metadata and unknown fields');
    perform hold('limits.unknown_fields', count_of_unknown(unknown),
      count_of_unknown(c.unknown), 'unknown fields: %s of them');
  end if;
  -- Whoever only becomes admin, or ceases to be, keeps what is said of them.
  changed := array(
    (select unnest(ruling) except select unnest(admins) except select unnest(joining))
    union all
    (select unnest(admins) except select unnest(ruling) except select unnest(leaving)));
  select json_agg(json_build_object(
      'user', u, 'admin', u = any (ruling), 'name', name, 'metadata', about,
      'unknown', more) order by n)
    into written
    from (
      select u, n, null as name, null::json as about, null::json as more
      from unnest(joining) with ordinality as t(u, n)
      union all
      select m.user_id, 0, m.name, m.metadata, m.unknown from members m
      where m.conversation = c.id and m.user_id = any (changed)) as told;
  return write_record(c, title, metadata, unknown, written, leaving, null, null);
end
$$;

-- Creates a conversation, or changes the fields that are given: title, participants,
-- admins, metadata and fields that the gateway does not know. Answers with it.
create or replace function {schema}.put_conversation(id text, changes jsonb)
  returns jsonb language plpgsql {volatile} as $$
declare
  wanted text collate "C" := id;
  c conversations;
begin
  perform check_id('id', wanted);
  perform check_object('changes', changes);
  perform check_text(changes, 'title');
  perform check_nested(changes, 'metadata', false);
  loop
    c := lock_conversation(wanted, true);
    exit when c.id is not null;
    -- Nobody has seen a value of what is not there.
    if coalesce(jsonb_typeof(changes -> 'ifRev'), 'null') <> 'null' then
      perform refuse('PG404', 'conversation: no such conversation', null);
    end if;
    c := begin_conversation(wanted, true);
    exit when c.id is not null;
  end loop;
  if c.rev > 0 then c := lock_existing(c.id); end if;
  c := change_record(c, changes, '{}', '{}');
  return record_object(c);
end
$$;

-- Removes a conversation with its log; whether there was one.
create or replace function {schema}.delete_conversation(id text)
  returns boolean language plpgsql {volatile} as $$
declare
  wanted text collate "C" := id;
  c conversations;
begin
  perform check_id('id', wanted);
  c := lock_conversation(wanted, true);
  if c.id is null then return false; end if;
  perform remove_log(c);
  return true;
end
$$;

-- Adds users to those who take part; who does so already is no change.
create or replace function {schema}.add_participants(conversation text, users text[])
  returns jsonb language plpgsql {volatile} as $$
declare
  wanted text collate "C" := conversation;
  joining text[] collate "C" := users;
  c conversations;
begin
  perform check_ids('users', joining);
  c := lock_existing(wanted);
  c := change_record(c, '{}', joining, '{}');
  return record_object(c);
end
$$;

-- Takes users out of those who take part; who does not is no change.
create or replace function {schema}.remove_participants(conversation text, users text[])
  returns jsonb language plpgsql {volatile} as $$
declare
  wanted text collate "C" := conversation;
  leaving text[] collate "C" := users;
  c conversations;
begin
  perform check_ids('users', leaving);
  c := lock_existing(wanted);
  c := change_record(c, '{}', '{}', leaving);
  return record_object(c);
end
$$;
