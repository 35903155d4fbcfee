{% test keys_are_unique(model, columns) %}
select {{ columns | map('tojson') | join(', ') }}, count(*) as rows
from {{ model }}
group by all
having count(*) > 1
{% endtest %}
