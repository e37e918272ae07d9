-- A shop that keeps its customers informed: each order and the message about it are written in one
-- transaction, so that there is never one without the other. For a database in which
-- `gapless postgres install` was run; see deploy/reference/postgres.md, "A shop".

create schema shop;

create table shop.items (
    name text primary key,
    stock integer not null check (stock >= 0)
);

create table shop.orders (
    id bigint generated always as identity primary key,
    buyer text not null,
    item text not null references shop.items,
    shipped_at timestamptz
);

-- The conversation in which a customer hears of the orders.
create function shop.conversation(buyer text) returns text
language sql immutable as $$ select 'orders:' || buyer $$;

-- Places an order and says so. Whatever fails, an item that is sold out included, undoes both.
create function shop.place(buyer text, item text) returns bigint
language plpgsql as $$
declare
    placed bigint;
begin
    insert into shop.orders (buyer, item) values (place.buyer, place.item) returning id into placed;
    -- The first order makes the conversation, later ones change nothing.
    perform gapless.put_conversation(shop.conversation(buyer), jsonb_build_object(
        'title', 'Your orders', 'participants', jsonb_build_array(buyer)));
    -- The message has the order's number for its id: said again, it is the same message.
    perform gapless.post_message(shop.conversation(buyer), 'shop', jsonb_build_object(
        'id', 'order-' || placed, 'body', format('Order %s: %s.', placed, item),
        'order', placed));
    update shop.items set stock = stock - 1 where name = place.item;
    return placed;
end $$;

-- Ships an order; the message about it changes where it stands.
create function shop.ship(number bigint) returns void
language plpgsql as $$
declare
    shipped shop.orders;
begin
    update shop.orders set shipped_at = now() where id = number returning * into strict shipped;
    perform gapless.edit_message(shop.conversation(shipped.buyer), 'order-' || number,
        jsonb_build_object('body', format('Order %s: %s. It is on its way.', number, shipped.item)));
end $$;

insert into shop.items values ('a lamp', 1000), ('a chair', 1);
