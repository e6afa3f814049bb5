{{ config(tags=['feature']) }}
select id, parse_json('{"a": [1, "x"]}') as document from range(20)
