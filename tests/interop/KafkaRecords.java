import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Prints values of every metadata record type in every version that a Kafka release has, a line of
 * base64 each, as its own classes write them: the first with every default, the others with random
 * content, with nulls and with tags that nobody knows. Arguments: how many of each, and a seed.
 */
public class KafkaRecords {
    private static final String[] TEXTS = {
        "", "orders", "with \"quote\" \\ and /", "tab\t nl\n ctl\u0001\u001f", "\u00fcn\u00efc\u00f6d\u00e9",
        "\u65e5\u672c\u8a9e", "\ud83d\ude00", "\u2028\u2029\ufeff<>&", "x".repeat(300)
    };
    private static final long[] NUMBERS = {0, 1, -1, 2, 127, -128, 32767, -32768, Integer.MAX_VALUE, Integer.MIN_VALUE, Long.MAX_VALUE, Long.MIN_VALUE};
    private static final double[] DOUBLES = {0.0, -0.0, 0.1, 1e7, 1048576.0, 1.5e300, 5e-324, -1234.5678, Double.NaN, Double.POSITIVE_INFINITY};
    private static Random chance;

    public static void main(String[] arguments) throws Exception {
        int each = Integer.parseInt(arguments[0]);
        chance = new Random(Long.parseLong(arguments[1]));
        for (MetadataRecordType type : MetadataRecordType.values()) {
            for (short version = type.lowestSupportedVersion(); version <= type.highestSupportedVersion(); version++) {
                for (int number = 0; number < each; number++) {
                    ApiMessage record = type.newMetadataRecord();
                    if (number > 0) fill(record, schema(record.getClass(), version));
                    System.out.println(Base64.getEncoder().encodeToString(written(record, version)));
                }
            }
        }
    }

    private static byte[] written(ApiMessage record, short version) {
        MetadataRecordSerde serde = new MetadataRecordSerde();
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ApiMessageAndVersion versioned = new ApiMessageAndVersion(record, version);
        byte[] value = new byte[serde.recordSize(versioned, cache)];
        serde.write(versioned, cache, new ByteBufferAccessor(ByteBuffer.wrap(value)));
        return value;
    }

    private static Schema schema(Class<?> generated, int version) throws ReflectiveOperationException {
        return ((Schema[]) generated.getField("SCHEMAS").get(null))[version];
    }

    /** Fields that the version does not have keep their defaults, as Kafka refuses others. */
    private static void fill(Message message, Schema schema) throws ReflectiveOperationException {
        for (BoundField bound : schema.fields()) {
            if (!(bound.def.type instanceof TaggedFields tagged)) {
                fill(message, bound.def);
                continue;
            }
            Field fields = TaggedFields.class.getDeclaredField("fields");
            fields.setAccessible(true);
            for (Object field : ((Map<?, ?>) fields.get(tagged)).values()) {
                if (chance.nextInt(3) > 0) fill(message, (org.apache.kafka.common.protocol.types.Field) field);
            }
            if (chance.nextInt(4) == 0) message.unknownTaggedFields().add(new RawTaggedField(1000, bytes()));
        }
    }

    private static void fill(Message message, org.apache.kafka.common.protocol.types.Field declared) throws ReflectiveOperationException {
        Field member = member(message.getClass(), declared.name);
        var element = declared.type.arrayElementType();
        if (declared.type.isNullable() && chance.nextInt(4) == 0) {
            member.set(message, null);
        } else if (element.isEmpty()) {
            member.set(message, declared.type instanceof Schema structure
                ? structure(member.getType(), structure) : scalar(declared.type, member.getType()));
        } else {
            member.set(message, elements(element.get(), member));
        }
    }

    @SuppressWarnings("unchecked")
    private static Object elements(org.apache.kafka.common.protocol.types.Type element, Field member) throws ReflectiveOperationException {
        Collection<Object> found = member.getType() == List.class
            ? new ArrayList<>() : (Collection<Object>) member.getType().getConstructor().newInstance();
        for (int left = chance.nextInt(4); left > 0; left--) {
            Class<?> of = elementOf(member.getGenericType());
            found.add(element instanceof Schema structure ? structure(of, structure) : scalar(element, of));
        }
        return found;
    }

    private static Message structure(Class<?> generated, Schema structure) throws ReflectiveOperationException {
        Message made = (Message) generated.getConstructor().newInstance();
        fill(made, structure);
        return made;
    }

    private static Object scalar(org.apache.kafka.common.protocol.types.Type type, Class<?> of) {
        String name = type.toString().replaceAll("COMPACT_|NULLABLE_", "");
        long number = NUMBERS[chance.nextInt(NUMBERS.length)];
        return switch (name) {
            case "BOOLEAN" -> chance.nextBoolean();
            case "INT8" -> (byte) number;
            case "INT16" -> (short) number;
            case "UINT16" -> (int) number & 0xffff;
            case "INT32" -> (int) number;
            case "INT64" -> number;
            case "FLOAT64" -> DOUBLES[chance.nextInt(DOUBLES.length)];
            case "UUID" -> chance.nextInt(4) == 0 ? Uuid.ZERO_UUID : new Uuid(chance.nextLong(), chance.nextLong());
            case "STRING" -> TEXTS[chance.nextInt(TEXTS.length)];
            case "BYTES" -> bytes();
            default -> throw new IllegalStateException(name + " for " + of);
        };
    }

    private static byte[] bytes() {
        byte[] found = new byte[chance.nextInt(40)];
        chance.nextBytes(found);
        return found;
    }

    private static Field member(Class<?> generated, String name) {
        for (Field member : generated.getDeclaredFields()) {
            if (!Modifier.isStatic(member.getModifiers()) && member.getName().equalsIgnoreCase(name.replace("_", ""))) {
                member.setAccessible(true);
                return member;
            }
        }
        throw new IllegalStateException(generated.getName() + " has no member for " + name);
    }

    private static Class<?> elementOf(Type type) {
        if (type instanceof ParameterizedType parameterized) {
            return (Class<?>) parameterized.getActualTypeArguments()[0];
        }
        return elementOf(((Class<?>) type).getGenericSuperclass());
    }
}
