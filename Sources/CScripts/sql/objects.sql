-- ---------------------------------------------------------------------------------------
-- Objects for applications, as jsonb.

create or replace function {schema}.moment(p_time timestamptz)
  returns text language plpgsql {stable} as $$
begin
  return to_char(p_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
end
$$;

create or replace function {schema}.message_object(m {schema}.messages)
  returns jsonb language plpgsql {stable} as $$
begin
  return case when m.deleted then jsonb_build_object(
      'id', m.id, 'conversation', m.conversation, 'seq', m.seq, 'rev', m.rev,
      'author', m.author, 'createdAt', moment(m.created_at),
      'editedAt', moment(m.edited_at), 'deleted', true)
    else coalesce(m.content::jsonb -> 'unknown', '{}')
      - case when m.reactions is not null then array['reactions', 'contentRev'] else '{}' end
      || jsonb_build_object(
      'id', m.id, 'conversation', m.conversation, 'seq', m.seq, 'rev', m.rev,
      'author', m.author, 'body', m.content::jsonb -> 'body',
      'attachment', m.content::jsonb -> 'attachment',
      'metadata', coalesce(m.content::jsonb -> 'metadata', '{}'),
      'createdAt', moment(m.created_at), 'editedAt', moment(m.edited_at),
      'deleted', false)
      || (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(m.content::jsonb)
        where key in ('replyTo', 'mentions', 'mentionAll'))
      || case when json_array_length(m.reactions) > 0
        then jsonb_build_object('reactions', m.reactions) else '{}' end
      || case when m.content_rev < m.rev
        then jsonb_build_object('contentRev', m.content_rev) else '{}' end end;
end
$$;

create or replace function {schema}.head_object(c {schema}.conversations)
  returns jsonb language plpgsql {stable} as $$
begin
  return jsonb_build_object(
    'epoch', c.epoch, 'seq', c.seq, 'rev', c.rev, 'mark', c.mark, 'floor', c.floor);
end
$$;

-- A conversation; who takes part is left out where there are more than 100.
create or replace function {schema}.record_object(c {schema}.conversations)
  returns jsonb language plpgsql {stable} as $$
begin
  return (
    select c.unknown::jsonb || jsonb_build_object(
        'id', c.id, 'title', c.title, 'participantCount', c.participants,
        'admins', (
          select coalesce(jsonb_agg(user_id order by place), '[]') from members
          where conversation = c.id and is_admin),
        'metadata', c.metadata, 'createdAt', moment(c.created_at),
        'updatedAt', moment(c.updated_at), 'rev', c.record_rev,
        'lastMessage', (
          select message_object(m) from messages m
          where conversation = c.id and seq = c.last_seq),
        'head', head_object(c))
      || case when c.participants > 100 then '{}' else jsonb_build_object('participants', (
          select coalesce(jsonb_agg(user_id order by place), '[]') from members
          where conversation = c.id)) end
      || case when c.created_by is null then '{}'
          else jsonb_build_object('createdBy', c.created_by) end
  );
end
$$;

-- ---------------------------------------------------------------------------------------
-- Objects for gateways, as json: what was given as text stays that text.

create or replace function {schema}.milliseconds(p_time timestamptz)
  returns bigint language plpgsql {stable} as $$
begin
  return (
    select trunc(extract(epoch from p_time) * 1000)::bigint
  );
end
$$;

create or replace function {schema}.head_json(c {schema}.conversations)
  returns json language plpgsql {stable} as $$
begin
  return json_build_object(
    'epoch', c.epoch, 'seq', c.seq, 'rev', c.rev, 'mark', c.mark, 'floor', c.floor);
end
$$;

create or replace function {schema}.message_json(m {schema}.messages)
  returns json language plpgsql {stable} as $$
begin
  return (
    select json_build_object(
      'seq', m.seq, 'rev', m.rev,
      'createdAt', trunc(extract(epoch from m.created_at) * 1000)::bigint,
      'editedAt', trunc(extract(epoch from m.edited_at) * 1000)::bigint,
      'deleted', m.deleted, 'id', m.id, 'author', m.author, 'content', m.content,
      'reactions', m.reactions, 'contentRev', m.content_rev)
  );
end
$$;

-- About as many bytes as a message takes in an answer.
create or replace function {schema}.bytes_of(m {schema}.messages)
  returns bigint language plpgsql {stable} as $$
begin
  return coalesce(octet_length(m.content::text), 0)
    + coalesce(octet_length(m.reactions::text), 0) + 128;
end
$$;

-- What is left of a message that is no longer kept: as of its insertion.
create or replace function {schema}.trimmed_json(t {schema}.trimmed)
  returns json language plpgsql {stable} as $$
begin
  return json_build_object(
    'seq', t.seq, 'rev', t.first_rev, 'createdAt', milliseconds(t.created_at),
    'editedAt', null, 'deleted', false, 'trimmed', true, 'id', t.id, 'author', t.author,
    'content', null);
end
$$;

-- How far somebody has read: one's own messages are read.
create or replace function {schema}.read_by(p_conversation text, p_user text)
  returns bigint language plpgsql {stable} as $$
begin
  return (
    select greatest(
      (select seq from reads where conversation = p_conversation and user_id = p_user),
      (select seq from authors where conversation = p_conversation and user_id = p_user), 0)
  );
end
$$;

-- How many messages above a place are not deleted.
create or replace function {schema}.unread_above(c {schema}.conversations, p_read bigint)
  returns bigint language plpgsql {stable} as $$
begin
  return (
    select greatest(0, c.seq - start) - (
        select count(*) from messages
        where conversation = c.id and seq > start and deleted)
    from (select greatest(p_read, c.floor - 1) as start) as below
  );
end
$$;

-- How many of the messages above a place, and since a user joined, mention the user.
create or replace function {schema}.unread_mentions(
  c {schema}.conversations, p_user text, p_read bigint)
  returns bigint language plpgsql {stable} as $$
begin
  return (
    select case when c.seq <= place then 0 else mentions_above(c, p_user, greatest(
        place, (select joined_seq from members
          where conversation = c.id and user_id = p_user))) end
    from (select greatest(p_read, c.floor - 1) as place) as below
  );
end
$$;

-- In how many messages above a place others mention a user.
create or replace function {schema}.mentions_above(
  c {schema}.conversations, p_user text, p_place bigint)
  returns bigint language plpgsql {stable} as $$
begin
  return (
    select count(*) from mentions
    where conversation = c.id and user_id = p_user and seq > p_place) + (
    select count(*) from mentions
    where conversation = c.id and user_id = '' and seq > p_place and author <> p_user);
end
$$;

create or replace function {schema}.reader_json(c {schema}.conversations, p_user text)
  returns json language plpgsql {stable} as $$
begin
  return (
    select json_build_object(
      'read', place, 'unread', unread_above(c, place),
      'mentions', unread_mentions(c, p_user, place))
    from (select read_by(c.id, p_user) as place) as known
    where exists (select from members where conversation = c.id and user_id = p_user)
  );
end
$$;

create or replace function {schema}.member_json(m {schema}.members)
  returns json language plpgsql {stable} as $$
begin
  return (
    select json_build_object(
      'user', m.user_id, 'admin', m.is_admin,
      'createdAt', trunc(extract(epoch from m.created_at) * 1000)::bigint,
      'updatedAt', trunc(extract(epoch from m.updated_at) * 1000)::bigint,
      'name', m.name, 'metadata', m.metadata, 'unknown', m.unknown,
      'joinedSeq', m.joined_seq)
  );
end
$$;

-- Who takes part: all, or, of more than a reply lists, the admins and who is named.
create or replace function {schema}.members_json(
  c {schema}.conversations, p_named text[])
  returns json language plpgsql {stable} as $$
begin
  if p_named is null or c.participants <= 100 then
    return (
      select coalesce(json_agg(member_json(m) order by m.place), '[]')
      from members m where m.conversation = c.id
    );
  end if;
  return (
    select coalesce(json_agg(shown order by place), '[]') from (
      select place, member_json(m) as shown from members m
        where conversation = c.id and is_admin
      union all
      select place, member_json(m) from members m
        where conversation = c.id and user_id = any (p_named) and not is_admin) as chosen
  );
end
$$;

-- A conversation; of many who take part, the admins and who is named (NULL: everybody).
create or replace function {schema}.view_json(
  c {schema}.conversations, p_reader text, p_named text[])
  returns json language plpgsql {stable} as $$
begin
  return (
    select json_build_object(
      'id', c.id, 'head', head_json(c), 'rev', c.record_rev, 'title', c.title,
      'metadata', c.metadata, 'unknown', c.unknown, 'createdAt', milliseconds(c.created_at),
      'updatedAt', milliseconds(c.updated_at), 'createdBy', c.created_by,
      'people', encode(c.people, 'hex'),
      'count', c.participants, 'members', members_json(
        c, case when p_named is not null then p_named || p_reader end),
      'last', (
        select message_json(m) from messages m
        where conversation = c.id and seq = c.last_seq),
      'reader', reader_json(c, p_reader))
  );
end
$$;
