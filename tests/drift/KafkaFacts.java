import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Prints what the classes of a Kafka release say of its formats, as one JSON object: metadata records,
 * requests and responses, control records and quorum-state, error codes, levels of features, configs.
 *
 * What differs between releases is looked for by its simple name in the jars of the class path, and
 * read by reflection: classes move from one package to another.
 */
public class KafkaFacts {
    private static final Pattern SIZES_AND_NULLS = Pattern.compile("COMPACT_|NULLABLE_");
    private static final List<String> CONTROL_MESSAGES = List.of(
        "LeaderChangeMessage", "SnapshotHeaderRecord", "SnapshotFooterRecord", "KRaftVersionRecord", "VotersRecord");

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("records", records());
        facts.put("apis", apis());
        facts.put("controlTypes", controlTypes());
        facts.put("controlMessages", messages(CONTROL_MESSAGES));
        facts.put("files", messages(List.of("QuorumStateData")));
        facts.put("errors", errors());
        facts.put("levels", levels());
        facts.put("features", features());
        facts.put("configs", configs());
        facts.put("keptConfigs", keptConfigs());
        facts.put("topicConfigs", topicConfigs());
        new ObjectMapper().writeValue(System.out, facts);
    }

    private static List<Object> records() throws Exception {
        List<Object> found = new ArrayList<>();
        for (MetadataRecordType type : MetadataRecordType.values()) {
            Map<String, Object> record = message(type.newMetadataRecord().getClass());
            record.put("name", type.name());
            record.put("key", type.id());
            found.add(record);
        }
        return found;
    }

    /** Those with a version; an API that Kafka has dropped has none. */
    private static List<Object> apis() throws Exception {
        List<Object> found = new ArrayList<>();
        for (ApiMessageType type : ApiMessageType.values()) {
            if (type.highestSupportedVersion(true) < type.lowestSupportedVersion()) continue;
            Map<String, Object> api = new LinkedHashMap<>();
            api.put("name", type.name);
            api.put("key", type.apiKey());
            api.put("oldest", type.lowestSupportedVersion());
            api.put("newest", type.highestSupportedVersion(true));
            api.put("newestStable", type.highestSupportedVersion(false));
            api.put("request", message(type.newRequest().getClass()));
            api.put("response", message(type.newResponse().getClass()));
            found.add(api);
        }
        return found;
    }

    private static Map<String, Object> messages(List<String> names) throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        for (String name : names) {
            found.put(name, message(named(name)));
        }
        return found;
    }

    /** A generated class: oldest and newest version, and the fields of each. */
    private static Map<String, Object> message(Class<?> generated) throws Exception {
        Schema[] schemas = (Schema[]) generated.getField("SCHEMAS").get(null);
        Map<String, Object> versions = new TreeMap<>();
        for (int version = 0; version < schemas.length; version++) {
            if (schemas[version] != null) {
                versions.put(String.valueOf(version), fields(schemas[version], generated));
            }
        }
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("oldest", generated.getField("LOWEST_SUPPORTED_VERSION").get(null));
        found.put("newest", generated.getField("HIGHEST_SUPPORTED_VERSION").get(null));
        found.put("versions", versions);
        return found;
    }

    /** The fields of a structure in the order of the wire, and whether it is flexible (KIP-482). */
    private static Map<String, Object> fields(Schema schema, Class<?> generated) throws Exception {
        Object defaults = instance(generated);
        boolean isFlexible = false;
        List<Object> found = new ArrayList<>();
        for (BoundField bound : schema.fields()) {
            if (bound.def.type instanceof TaggedFields tagged) {
                isFlexible = true;
                for (Map.Entry<?, ?> entry : tagged(tagged).entrySet()) {
                    var field = (org.apache.kafka.common.protocol.types.Field) entry.getValue();
                    found.add(field(field, (Integer) entry.getKey(), generated, defaults));
                }
            } else {
                found.add(field(bound.def, null, generated, defaults));
            }
        }
        Map<String, Object> structure = new LinkedHashMap<>();
        structure.put("flexible", isFlexible);
        structure.put("fields", found);
        return structure;
    }

    private static Map<?, ?> tagged(TaggedFields tagged) throws Exception {
        Field fields = TaggedFields.class.getDeclaredField("fields");
        fields.setAccessible(true);
        return (Map<?, ?>) fields.get(tagged);
    }

    private static Map<String, Object> field(
        org.apache.kafka.common.protocol.types.Field declared, Integer tag, Class<?> generated, Object defaults
    ) throws Exception {
        Field member = member(generated, declared.name);
        var element = declared.type.arrayElementType();
        var type = element.orElse(declared.type);
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("name", member.getName());
        found.put("array", element.isPresent());
        found.put("nullable", declared.type.isNullable());
        found.put("tag", tag);
        if (type instanceof Schema structure) {
            Class<?> inner = element.isPresent() ? elementOf(member.getGenericType()) : member.getType();
            found.put("type", "struct");
            found.put("structure", fields(structure, inner));
        } else {
            found.put("type", SIZES_AND_NULLS.matcher(type.toString()).replaceAll("").toLowerCase());
        }
        found.put("default", plain(member.get(defaults)));
        return found;
    }

    /** The member of a generated class for a field of its schema: log_dirs is logDirs. */
    private static Field member(Class<?> generated, String name) {
        String wanted = name.replace("_", "");
        for (Field member : generated.getDeclaredFields()) {
            if (!Modifier.isStatic(member.getModifiers()) && member.getName().equalsIgnoreCase(wanted)) {
                member.setAccessible(true);
                return member;
            }
        }
        throw new IllegalStateException(generated.getName() + " has no member for " + name);
    }

    /** E of List<E>, and of a class that extends a collection of E. */
    private static Class<?> elementOf(Type type) {
        if (type instanceof ParameterizedType parameterized) {
            return (Class<?>) parameterized.getActualTypeArguments()[0];
        }
        return elementOf(((Class<?>) type).getGenericSuperclass());
    }

    private static Object instance(Class<?> generated) throws Exception {
        Constructor<?> constructor = generated.getDeclaredConstructor();
        constructor.setAccessible(true);
        return constructor.newInstance();
    }

    /** A default as JSON has it; that of a structure is in its fields. */
    private static Object plain(Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            return value;
        } else if (value instanceof Collection<?> elements && elements.isEmpty()) {
            return List.of();
        } else if (value instanceof byte[] bytes && bytes.length == 0) {
            return "";
        } else if (value instanceof ByteBuffer bytes && !bytes.hasRemaining()) {
            return "";
        } else if (value instanceof String || value instanceof org.apache.kafka.common.Uuid) {
            return value.toString();
        } else if (value instanceof org.apache.kafka.common.protocol.Message) {
            return Map.of();
        }
        throw new IllegalStateException("a default of " + value.getClass());
    }

    private static Map<String, Object> controlTypes() throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        Method type = named("ControlRecordType").getMethod("type");
        for (Object each : named("ControlRecordType").getEnumConstants()) {
            found.put(each.toString(), type.invoke(each));
        }
        return found;
    }

    private static Map<String, Object> errors() {
        Map<String, Object> found = new LinkedHashMap<>();
        for (Errors error : Errors.values()) {
            found.put(error.name(), error.code());
        }
        return found;
    }

    /** What each level of metadata.version answers: name, and all that it tells as a number or flag. */
    private static Map<String, Object> levels() throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        for (MetadataVersion level : MetadataVersion.values()) {
            Map<String, Object> answers = new TreeMap<>();
            for (Method method : MetadataVersion.class.getDeclaredMethods()) {
                boolean isQuestion = method.getReturnType() == boolean.class || method.getReturnType() == short.class;
                boolean isAbout = Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers());
                if (isQuestion && isAbout && method.getParameterCount() == 0) {
                    answers.put(method.getName(), answer(method, level));
                }
            }
            answers.put("version", level.version());
            found.put(String.valueOf(level.featureLevel()), answers);
        }
        return found;
    }

    /** Null where the level has none: what a record's version is, below the level that has the record. */
    private static Object answer(Method method, MetadataVersion level) throws IllegalAccessException {
        try {
            return method.invoke(level);
        } catch (InvocationTargetException unsupported) {
            return null;
        }
    }

    /** Levels of each feature of a cluster, metadata.version aside; those of tests are no part of it. */
    private static Map<String, Object> features() throws Exception {
        Class<?> features = named("Feature", "Features");
        Map<String, Object> found = new TreeMap<>();
        for (Object feature : (Collection<?>) features.getField("PRODUCTION_FEATURES").get(null)) {
            Map<String, Object> levels = new LinkedHashMap<>();
            levels.put("oldest", features.getMethod("minimumProduction").invoke(feature));
            levels.put("newest", features.getMethod("latestTesting").invoke(feature));
            levels.put("newestStable", features.getMethod("latestProduction").invoke(feature));
            found.put((String) features.getMethod("featureName").invoke(feature), levels);
        }
        return found;
    }

    /** Configs of a node, by name. */
    private static Map<String, Object> configs() throws Exception {
        Map<String, Object> found = new TreeMap<>();
        ConfigDef all = (ConfigDef) named("AbstractKafkaConfig").getField("CONFIG_DEF").get(null);
        for (ConfigDef.ConfigKey key : all.configKeys().values()) {
            Map<String, Object> config = new LinkedHashMap<>();
            config.put("type", key.type.name());
            config.put("required", !key.hasDefault());
            config.put("default", key.hasDefault() && key.defaultValue != null ? key.defaultValue.toString() : null);
            config.put("bounds", String.valueOf(key.validator));
            found.put(key.name, config);
        }
        return found;
    }

    /** Names of the dynamic configs that a node keeps in its image, by resource type: 2 topics, 16 client
     * metrics, 32 groups. Releases before 4.2 keep them all, and have nothing here. */
    private static Map<String, Object> keptConfigs() throws Exception {
        Map<String, Object> found = new TreeMap<>();
        if (candidates("SupportedConfigChecker").isEmpty()) return found;
        found.put("2", namesOf(named("LogConfig")));
        found.put("16", namesOf(named("ClientMetricsConfigs")));
        found.put("32", namesOf(named("GroupConfig")));
        return found;
    }

    /** The configs of topics: the default, and the configs of brokers that stand in for it, each with what
     * one unit of it is. */
    @SuppressWarnings("unchecked") // what reflection gives has no type
    private static Map<String, Object> topicConfigs() throws Exception {
        ConfigDef all = (ConfigDef) named("LogConfig").getMethod("configDefCopy").invoke(null);
        Map<String, List<Object>> synonyms = (Map<String, List<Object>>) named("ServerTopicConfigSynonyms").getField("ALL_TOPIC_CONFIG_SYNONYMS").get(null);
        Map<String, Object> found = new TreeMap<>();
        for (ConfigDef.ConfigKey key : all.configKeys().values()) {
            Map<String, Object> ofBrokers = new LinkedHashMap<>();
            for (Object synonym : synonyms.getOrDefault(key.name, List.of())) {
                Class<?> declared = synonym.getClass();
                Function<String, String> converter = (Function<String, String>) declared.getMethod("converter").invoke(synonym);
                ofBrokers.put((String) declared.getMethod("name").invoke(synonym), converter.apply("1"));
            }
            Map<String, Object> config = new LinkedHashMap<>();
            config.put("default", key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
            config.put("ofBrokers", ofBrokers);
            found.put(key.name, config);
        }
        return found;
    }

    private static Object namesOf(Class<?> configs) throws ReflectiveOperationException {
        try {
            return configs.getMethod("configNames").invoke(null);
        } catch (NoSuchMethodException older) {
            return ((ConfigDef) configs.getMethod("configDef").invoke(null)).names();
        }
    }

    /** The class of Kafka's own jars that has one of the simple names; fails where there are none or more. */
    private static Class<?> named(String... names) throws IOException, ClassNotFoundException {
        List<String> found = candidates(names);
        if (found.size() != 1) {
            throw new IllegalStateException("of the classes named " + List.of(names) + " there are " + found);
        }
        return Class.forName(found.get(0).replace('/', '.').replace(".class", ""));
    }

    private static List<String> candidates(String... names) throws IOException {
        List<String> found = new ArrayList<>();
        Pattern wanted = Pattern.compile("org/apache/kafka/(?!common/feature/).*?(" + String.join("|", names) + ")\\.class");
        for (String jar : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!new File(jar).getName().startsWith("kafka")) continue;
            try (JarFile opened = new JarFile(jar)) {
                opened.stream().map(entry -> entry.getName())
                    .filter(entry -> wanted.matcher(entry).matches())
                    .filter(entry -> List.of(names).contains(entry.substring(entry.lastIndexOf('/') + 1, entry.length() - 6)))
                    .forEach(found::add);
            }
        }
        return found;
    }
}
