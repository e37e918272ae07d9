/// Queries on the database's catalogue.
extension Installation {
    /// A schema's functions: name, signature, arguments, body, whether security definer, search
    /// path, whether everybody may execute them, volatility, whether strict.
    static let functions = """
        select p.proname, p.oid::regprocedure, pg_get_function_arguments(p.oid), p.prosrc,
          p.prosecdef, (select c from unnest(p.proconfig) c where c like 'search_path=%'),
          exists (
            select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
            where a.grantee = 0),
          p.provolatile, p.proisstrict
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname = $1 order by p.proname
        """

    /// Objects outside the schema that depend on a function.
    static let dependents = """
        select distinct coalesce(
            'view ' || v.oid::regclass, 'function ' || f.oid::regprocedure,
            'trigger ' || t.tgname || ' on ' || t.tgrelid::regclass,
            pg_describe_object(d.classid, d.objid, d.objsubid))
        from pg_depend d
        left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
        left join pg_class v on v.oid = r.ev_class
        left join pg_proc f on d.classid = 'pg_proc'::regclass and f.oid = d.objid
        left join pg_trigger t on d.classid = 'pg_trigger'::regclass and t.oid = d.objid
        where d.refclassid = 'pg_proc'::regclass and d.refobjid = $1::regprocedure
          and d.deptype in ('n', 'a')
        """

    static let columns = """
        select c.relname || '.' || a.attname, format_type(a.atttypid, null) || case
            when a.attcollation <> 0 and l.collname <> 'default'
            then ' collate "' || l.collname || '"' else '' end
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        left join pg_collation l on l.oid = a.attcollation
        where n.nspname = $1 and c.relkind = 'r'
        """

    static let indexes = """
        select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_index i on i.indexrelid = c.oid and i.indisvalid
        where n.nspname = $1
        """

    /// Rights of others than the owner on tables, and tables of another owner.
    static let strangers = """
        select format('%s may %s table %I', case a.grantee when 0 then 'everybody'
            else a.grantee::regrole::text end, lower(a.privilege_type), c.relname)
        from pg_class c join pg_namespace n on n.oid = c.relnamespace,
          aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
        where n.nspname = $1 and c.relkind in ('r', 'v') and a.grantee <> c.relowner
        union all
        select format('table %I belongs to %s, not to the owner of the schema', c.relname,
            c.relowner::regrole)
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relkind = 'r' and c.relowner <> n.nspowner
        """

    /// The rights that a role is missing.
    static let rights = """
        select case when r.oid is null then format('role %s', $2::text)
          else format('right of %s to execute %s', $2::text, called) end
        from unnest($3::text[]) called
        left join pg_roles r on r.rolname = $2
        where r.oid is null and called = ($3::text[])[1] or r.oid is not null and not exists (
          select from pg_proc p join pg_namespace n on n.oid = p.pronamespace
          where n.nspname = $1 and p.proname = called
            and has_schema_privilege(r.oid, n.oid, 'usage')
            and has_function_privilege(r.oid, p.oid, 'execute'))
        """

    /// Settings of a server or a database that are dangerous for a log.
    static let dangers = """
        select 'dangerous: the encoding is ' || current_setting('server_encoding')
            || ' (accepted: UTF8)'
          where current_setting('server_encoding') <> 'UTF8'
        union all
        select 'dangerous: synchronous_commit is ' || current_setting('synchronous_commit')
            || ': what was acknowledged may be lost in a crash (accepted: on, remote_apply, '
            || 'remote_write, and local where there is no synchronous standby)'
          where current_setting('synchronous_commit') = 'off'
            or current_setting('synchronous_commit') = 'local'
              and current_setting('synchronous_standby_names') <> ''
        union all
        select format('dangerous: synchronous_commit is set to %s for %s', split_part(c, '=', 2),
            coalesce('role ' || nullif(s.setrole, 0)::regrole, 'the database'))
          from pg_db_role_setting s, unnest(s.setconfig) c
          where s.setdatabase in (
              0, (select oid from pg_database where datname = current_database()))
            and c in ('synchronous_commit=off', 'synchronous_commit=local')
        union all
        select 'dangerous: ' || name || ' is off: a crash of the machine may destroy the log'
          from pg_settings where name in ('fsync', 'full_page_writes') and setting = 'off'
        union all
        select format('dangerous: the notification queue is %s %% full: a process listens and '
            'does not read (pg_stat_activity shows the oldest transactions of those that listen)',
            round(100 * pg_notification_queue_usage()))
          where pg_notification_queue_usage() >= 0.5
        union all
        select 'dangerous: this server is in recovery: it is a standby, and takes no writes'
          where pg_is_in_recovery()
        """
}
