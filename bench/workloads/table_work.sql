-- SPDX-License-Identifier: Apache-2.0
-- Fill, index, group, sort and serialise a table in memory.
create table item(id integer primary key, name text, value real, tag text);
with recursive counter(x) as (select 1 union all select x + 1 from counter where x < 200000)
  insert into item select x, 'name' || x, x * 1.5, 'tag' || (x % 97) from counter;
create index item_name on item(name);
select tag, count(*), length(group_concat(name)) from item group by tag order by 2 limit 1;
select count(*) from (select upper(name) || tag as z from item order by z);
select length(json_group_array(json_object('a', id, 'b', name))) from item;
